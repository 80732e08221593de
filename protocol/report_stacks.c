/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The distinct stacks. A thousand threads have 36,000 frames but only some hundred distinct ones
 * ("spots"), so that each spot is looked up, named and copied once, and stacks are compared as
 * sequences of spot numbers.
 */
#include "cleanup.h"
#include "report.h"
#include "stack_id.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 1024, NOTHING = UINT32_MAX };

/* A distinct frame, with what is reported of it: its inlined calls, then itself. */
struct spot {
	const struct sw_frame *frame;         /* the first that was like it; the walks' */
	const char *managed_name;             /* the report's; NULL for native code */
	const struct sw_report_frame *frames; /* the report's */
	size_t n_frames;
	uint32_t same;       /* the spot that stands for all that are reported alike */
	uint32_t next_key;   /* next spot with the same hash of the frame */
	uint32_t next_alike; /* next spot with the same hash of what is reported */
};

/* A distinct stack. */
struct group {
	const struct sw_walk *walk; /* the first thread's */
	const uint32_t *spots;      /* walk->n_frames numbers */
	uint32_t next;              /* next group with the same hash */
	uint32_t first_thread;
	size_t n_threads;
};

struct stacks {
	struct sw_report_builder *b;
	struct spot *spots; /* owned */
	size_t n_spots, spots_capacity;
	struct sw_map64 by_key, by_alike; /* hash -> first spot */
	uint32_t *sequence;               /* owned; the spots of all walks, one after the other */
	struct group *groups;             /* owned; room for one per walk */
	size_t n_groups;
	struct sw_map64 by_sequence; /* hash -> first group */
	uint32_t *group_of_walk;     /* owned */
};

static bool is_image(const struct sw_place *place)
{
	if (place == NULL)
		return false;
	enum sw_module_kind kind = sw_module_kind(place->module);
	return kind == SW_MODULE_ELF || kind == SW_MODULE_VDSO || kind == SW_MODULE_PE;
}

static const char *kind_of(const struct sw_place *place)
{
	if (place == NULL)
		return "unknown";
	switch (sw_module_kind(place->module)) {
	case SW_MODULE_ELF:
	case SW_MODULE_VDSO: return "native";
	case SW_MODULE_PE: return "pe";
	case SW_MODULE_JIT: return "jit";
	case SW_MODULE_ANON: break;
	}
	return "unknown";
}

static uint64_t hash_alike(const struct sw_frame *f)
{
	uint64_t h = sw_mix64(f->pc_avma ^ UINT64_C(0x9e3779b97f4a7c15));
	h = sw_mix64(h ^ (uintptr_t) f->place);
	return sw_mix64(h ^ ((uint64_t) f->by << 32 | (uint64_t) f->trust << 16 | f->flags));
}

static bool alike(const struct sw_frame *a, const struct sw_frame *b)
{
	return a->pc_avma == b->pc_avma && a->place == b->place && a->by == b->by &&
	       a->trust == b->trust && a->flags == b->flags;
}

static bool same_name(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* What identifies managed code: its name, because its address differs in every run. */
static const char *managed_name(struct sw_report_builder *b, const struct sw_frame *frame,
				const struct sw_symbol *symbols, size_t n_symbols)
{
	char name[NAME_MAX_BYTES];
	if (is_image(frame->place) && frame->cookie == 0)
		return NULL;
	if (sw_walk_describe(b->walks, frame, name, sizeof(name)))
		return sw_report_copy(b, name);
	const struct sw_symbol *own = n_symbols > 0 ? &symbols[n_symbols - 1] : NULL;
	bool managed = own != NULL && own->source >= SW_SOURCE_RUNTIME;
	return managed ? sw_report_copy_shared(b, own->function) : NULL;
}

static void frame_fill(struct sw_report_builder *b, const struct sw_frame *from,
		       const struct sw_symbol *symbol, struct sw_report_frame *ret)
{
	const struct sw_place *place = from->place;
	*ret = (struct sw_report_frame){
		.pc_avma = from->pc_avma,
		.module = sw_report_module_index(b, place),
		.has_offset = place != NULL && place->resolved == 1,
		.line_offset = -1,
		.kind = kind_of(place),
		.by = sw_unwinder_name(from->by),
		.trust = sw_trust_name(from->trust),
		.signal = from->flags & SW_FRAME_SIGNAL,
		.live_read = from->flags & SW_FRAME_LIVE_READ,
		.may_miss = from->flags & SW_FRAME_MAY_MISS,
	};
	if (ret->has_offset)
		ret->offset = from->pc_avma - place->bias;
	if (symbol == NULL)
		return;
	ret->function = sw_report_copy_shared(b, symbol->function);
	ret->function_offset = symbol->function_offset;
	ret->file = sw_report_copy_shared(b, symbol->file);
	ret->line = symbol->line;
	ret->line_offset = symbol->line_offset;
	ret->inlined = symbol->inlined;
}

static void spot_fill(struct sw_report_builder *b, struct spot *spot)
{
	const struct sw_symbol *symbols = NULL;
	size_t n = b->symbols == NULL ? 0 : sw_symbols_find(b->symbols, spot->frame, &symbols);
	spot->n_frames = n == 0 ? 1 : n;
	struct sw_report_frame *frames = sw_report_calloc(b, spot->n_frames, sizeof(*frames));
	if (frames == NULL)
		return;
	for (size_t i = 0; i < spot->n_frames; i++)
		frame_fill(b, spot->frame, n == 0 ? NULL : &symbols[i], &frames[i]);
	spot->managed_name = managed_name(b, spot->frame, symbols, n);
	struct sw_report_frame *own = &frames[spot->n_frames - 1];
	if (own->function == NULL)
		own->function = spot->managed_name;
	spot->frames = frames;
}

/* An interpreter's frames differ in what they were found by (the cookie), but are the same to the
 * reader when they have the same name. */
static void spot_find_alike(struct stacks *s, uint32_t index)
{
	struct spot *spot = &s->spots[index];
	uint64_t hash = hash_alike(spot->frame), first = NOTHING;
	(void) sw_map64_get(&s->by_alike, hash, &first); /* stays NOTHING */
	for (uint32_t i = (uint32_t) first; i != NOTHING; i = s->spots[i].next_alike) {
		if (!alike(s->spots[i].frame, spot->frame) ||
		    !same_name(s->spots[i].managed_name, spot->managed_name))
			continue;
		spot->same = i;
		return;
	}
	spot->same = index;
	spot->next_alike = (uint32_t) first;
	s->b->failed |= sw_map64_put(&s->by_alike, hash, index) < 0;
}

static uint32_t spot_add(struct stacks *s, const struct sw_frame *frame, uint64_t key,
			 uint32_t next)
{
	if (s->n_spots == s->spots_capacity) {
		size_t capacity = s->spots_capacity == 0 ? 256 : s->spots_capacity * 2;
		struct spot *grown = reallocarray(s->spots, capacity, sizeof(*grown));
		if (grown == NULL) {
			s->b->failed = true;
			return NOTHING;
		}
		s->spots = grown;
		s->spots_capacity = capacity;
	}
	uint32_t index = (uint32_t) s->n_spots++;
	s->spots[index] = (struct spot){.frame = frame, .next_key = next, .next_alike = NOTHING};
	spot_fill(s->b, &s->spots[index]);
	spot_find_alike(s, index);
	s->b->failed |= sw_map64_put(&s->by_key, key, index) < 0;
	return s->spots[index].same;
}

static uint32_t spot_of(struct stacks *s, const struct sw_frame *frame)
{
	uint64_t key = sw_mix64(hash_alike(frame) ^ frame->cookie), first = NOTHING;
	(void) sw_map64_get(&s->by_key, key, &first); /* stays NOTHING */
	for (uint32_t i = (uint32_t) first; i != NOTHING; i = s->spots[i].next_key)
		if (alike(s->spots[i].frame, frame) && s->spots[i].frame->cookie == frame->cookie)
			return s->spots[i].same;
	return spot_add(s, frame, key, (uint32_t) first);
}

static bool same_stack(const struct group *group, const struct sw_walk *walk, const uint32_t *spots)
{
	return group->walk->n_frames == walk->n_frames && group->walk->end == walk->end &&
	       same_name(group->walk->why, walk->why) &&
	       memcmp(group->spots, spots, walk->n_frames * sizeof(*spots)) == 0;
}

static uint32_t group_of(struct stacks *s, const struct sw_walk *walk, const uint32_t *spots)
{
	uint64_t hash = sw_mix64(walk->n_frames ^ (uint64_t) walk->end << 32), first = NOTHING;
	for (size_t f = 0; f < walk->n_frames; f++)
		hash = sw_mix64(hash ^ spots[f]);
	(void) sw_map64_get(&s->by_sequence, hash, &first); /* stays NOTHING */
	for (uint32_t i = (uint32_t) first; i != NOTHING; i = s->groups[i].next)
		if (same_stack(&s->groups[i], walk, spots))
			return i;
	uint32_t index = (uint32_t) s->n_groups++;
	const struct sw_snapshot *snap = s->b->walks->snap;
	s->groups[index] =
		(struct group){.walk = walk,
			       .spots = spots,
			       .next = (uint32_t) first,
			       .first_thread = (uint32_t) (walk->thread - snap->threads)};
	s->b->failed |= sw_map64_put(&s->by_sequence, hash, index) < 0;
	return index;
}

static void find_groups(struct stacks *s)
{
	const struct sw_walks *walks = s->b->walks;
	size_t n_frames = 0;
	for (size_t i = 0; i < walks->n_walks; i++)
		n_frames += walks->walks[i].n_frames;
	s->sequence = calloc(n_frames + 1, sizeof(*s->sequence));
	s->groups = calloc(walks->n_walks + 1, sizeof(*s->groups));
	s->group_of_walk = calloc(walks->n_walks + 1, sizeof(*s->group_of_walk));
	if (s->sequence == NULL || s->groups == NULL || s->group_of_walk == NULL) {
		s->b->failed = true;
		return;
	}
	uint32_t *spots = s->sequence;
	for (size_t i = 0; i < walks->n_walks; i++) {
		const struct sw_walk *walk = &walks->walks[i];
		for (size_t f = 0; f < walk->n_frames; f++)
			spots[f] = spot_of(s, &walk->frames[f]);
		if (s->b->failed)
			return;
		s->group_of_walk[i] = group_of(s, walk, spots);
		s->groups[s->group_of_walk[i]].n_threads++;
		spots += walk->n_frames;
	}
}

static uint64_t id_of(struct stacks *s, const struct group *group, struct sw_text *bytes)
{
	bytes->size = 0;
	for (size_t f = 0; f < group->walk->n_frames; f++) {
		const struct spot *spot = &s->spots[group->spots[f]];
		const struct sw_place *place = spot->frame->place;
		struct sw_stack_id_frame id = {.name = spot->managed_name};
		if (id.name == NULL && is_image(place)) {
			id.build_id = sw_module_build_id(place->module, &id.build_id_bytes);
			id.path = sw_module_path(place->module);
			id.offset = spot->frame->pc_avma -
				    (place->resolved == 1 ? place->bias : place->start_avma);
		}
		sw_stack_id_add(bytes, &id);
	}
	s->b->failed |= bytes->failed;
	return sw_stack_id(bytes);
}

static void stack_fill(struct stacks *s, const struct group *group, struct sw_text *bytes,
		       struct sw_report_stack *ret)
{
	size_t n_frames = 0, at = 0;
	for (size_t f = 0; f < group->walk->n_frames; f++)
		n_frames += s->spots[group->spots[f]].n_frames;
	struct sw_report_frame *frames = sw_report_calloc(s->b, n_frames, sizeof(*frames));
	if (frames == NULL)
		return;
	for (size_t f = 0; f < group->walk->n_frames; f++) {
		const struct spot *spot = &s->spots[group->spots[f]];
		memcpy(frames + at, spot->frames, spot->n_frames * sizeof(*frames));
		at += spot->n_frames;
	}
	*ret = (struct sw_report_stack){
		.id = id_of(s, group, bytes),
		.threads = sw_report_calloc(s->b, group->n_threads, sizeof(*ret->threads)),
		.end = sw_end_name(group->walk->end),
		.why = sw_report_copy_shared(s->b, group->walk->why),
		.frames = frames,
		.n_frames = n_frames,
	};
}

/* Most threads first, then by first thread. Groups were found in the order of first_thread. */
static int compare_groups(const void *a, const void *b)
{
	const struct group *x = *(const struct group *const *) a;
	const struct group *y = *(const struct group *const *) b;
	if (x->n_threads != y->n_threads)
		return x->n_threads > y->n_threads ? -1 : 1;
	return (x->first_thread > y->first_thread) - (x->first_thread < y->first_thread);
}

static void assign_threads(struct stacks *s, const uint32_t *stack_of_group)
{
	const struct sw_walks *walks = s->b->walks;
	struct sw_report *report = s->b->report;
	for (size_t i = 0; i < walks->n_walks; i++) {
		uint32_t index = stack_of_group[s->group_of_walk[i]];
		struct sw_report_stack *stack = &report->stacks[index];
		size_t thread = (size_t) (walks->walks[i].thread - walks->snap->threads);
		/* cast: the array is the report's own, still in the making */
		((size_t *) stack->threads)[stack->n_threads++] = thread;
		report->threads[thread].stack = (int32_t) index;
	}
}

static void fill_report(struct stacks *s)
{
	struct sw_report_builder *b = s->b;
	sw_cleanup(sw_free_p) const struct group **sorted =
		calloc(s->n_groups + 1, sizeof(*sorted));
	sw_cleanup(sw_free_p) uint32_t *stack_of_group =
		calloc(s->n_groups + 1, sizeof(*stack_of_group));
	b->ends = calloc(s->n_groups + 1, sizeof(*b->ends));
	b->report->stacks = sw_report_calloc(b, s->n_groups, sizeof(*b->report->stacks));
	if (sorted == NULL || stack_of_group == NULL || b->ends == NULL || b->failed) {
		b->failed = true;
		return;
	}
	for (size_t i = 0; i < s->n_groups; i++)
		sorted[i] = &s->groups[i];
	qsort(sorted, s->n_groups, sizeof(const struct group *), compare_groups);
	struct sw_text bytes = {0};
	for (size_t i = 0; i < s->n_groups && !b->failed; i++) {
		stack_fill(s, sorted[i], &bytes, &b->report->stacks[i]);
		stack_of_group[sorted[i] - s->groups] = (uint32_t) i;
		b->ends[i] = sorted[i]->walk;
	}
	sw_text_deinit(&bytes);
	if (b->failed)
		return;
	b->report->n_stacks = s->n_groups;
	assign_threads(s, stack_of_group);
}

void sw_report_build_stacks(struct sw_report_builder *b)
{
	struct stacks s = {.b = b};
	find_groups(&s);
	if (!b->failed)
		fill_report(&s);
	free(s.spots);
	free(s.sequence);
	free(s.groups);
	free(s.group_of_walk);
	sw_map64_deinit(&s.by_key);
	sw_map64_deinit(&s.by_alike);
	sw_map64_deinit(&s.by_sequence);
}
