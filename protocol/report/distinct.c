/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The distinct frames of a report: each is looked up, named and copied once. */
#include "report/distinct.h"
#include "arena.h"

#include <stdlib.h>

bool sw_place_is_image(const struct sw_place *place)
{
	if (place == NULL)
		return false;
	enum sw_module_kind kind = sw_module_kind(place->module);
	return kind == SW_MODULE_ELF || kind == SW_MODULE_VDSO || kind == SW_MODULE_PE;
}

/* Where an interpreted function is in memory says nothing to the reader: its name and line do. */
static uint64_t pc_alike(const struct sw_frame *f)
{
	return f->flags & SW_FRAME_LANGUAGE ? 0 : f->pc_avma;
}

static uint64_t hash_alike(const struct sw_frame *f)
{
	uint64_t h = sw_mix64(pc_alike(f) ^ UINT64_C(0x9e3779b97f4a7c15));
	h = sw_mix64(h ^ (uintptr_t) f->place);
	h = sw_mix64(h ^ (uintptr_t) f->by);
	return sw_mix64(h ^ ((uint64_t) f->owner << 32 | (uint64_t) f->trust << 16 | f->flags));
}

static bool alike(const struct sw_frame *a, const struct sw_frame *b)
{
	return pc_alike(a) == pc_alike(b) && a->place == b->place && a->by == b->by &&
	       a->owner == b->owner && a->trust == b->trust && a->flags == b->flags;
}

/* The name identifies managed code, because its address differs in every run. */
static const char *managed_name(struct sw_report_builder *b, const struct sw_frame *frame,
				const struct sw_symbol *symbols, size_t n_symbols)
{
	struct sw_description d;
	if (sw_place_is_image(frame->place) && frame->owner == 0)
		return NULL;
	const struct sw_symbol *own = n_symbols > 0 ? &symbols[n_symbols - 1] : NULL;
	bool managed = own != NULL && own->source >= SW_SOURCE_RUNTIME;
	if (managed)
		return sw_report_copy_shared(b, own->function);
	return sw_walk_describe(b->walks, frame, &d) ? sw_report_copy(b, d.function) : NULL;
}

void sw_report_frame_name(struct sw_report_builder *b, const struct sw_symbol *symbol,
			  uint64_t behind_lookup, struct sw_report_frame *ret)
{
	ret->function = sw_report_copy_shared(b, symbol->function);
	/* Names are looked up at the call; offsets are told of the pc, as everywhere else. */
	ret->function_offset = symbol->function_offset + behind_lookup;
	/* No call ends one byte behind a function's start: where that is, is not known. */
	if (symbol->source >= SW_SOURCE_RUNTIME && symbol->function_offset == 0)
		ret->function_offset = 0;
	ret->file = sw_report_copy_shared(b, symbol->file);
	ret->signature = sw_report_copy_shared(b, symbol->signature);
	ret->tier = symbol->tier;
	ret->line = symbol->line;
	ret->line_offset = symbol->line_offset;
	ret->inlined = symbol->inlined;
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
		.kind = from->kind,
		.by = from->by,
		.trust = sw_trust_name(from->trust),
		.signal = from->flags & SW_FRAME_SIGNAL,
		.live_read = from->flags & SW_FRAME_LIVE_READ,
		.may_miss = from->flags & SW_FRAME_MAY_MISS,
		.after_guess = from->flags & SW_FRAME_AFTER_GUESS,
		.internal = from->flags & SW_FRAME_INTERNAL,
		.exact_pc = from->flags & SW_FRAME_EXACT_PC ? 1 : -1,
	};
	if (ret->has_offset)
		ret->offset = from->pc_avma - place->bias;
	if (symbol != NULL)
		sw_report_frame_name(b, symbol, from->pc_avma - sw_frame_lookup_avma(from), ret);
}

static void entry_fill(struct sw_report_builder *b, struct sw_distinct_frame *entry)
{
	const struct sw_symbol *symbols = NULL;
	size_t n = b->symbols == NULL ? 0 : sw_symbols_find(b->symbols, entry->frame, &symbols);
	entry->n_frames = n == 0 ? 1 : n;
	struct sw_report_frame *frames = sw_report_calloc(b, entry->n_frames, sizeof(*frames));
	if (frames == NULL)
		return;
	for (size_t i = 0; i < entry->n_frames; i++)
		frame_fill(b, entry->frame, n == 0 ? NULL : &symbols[i], &frames[i]);
	entry->managed_name = managed_name(b, entry->frame, symbols, n);
	struct sw_report_frame *own = &frames[entry->n_frames - 1];
	if (own->function == NULL)
		own->function = entry->managed_name;
	entry->frames = frames;
}

/* An interpreter's frames differ in where they are and what they were found by (the cookie), but
 * are the same to the reader when they have the same name, signature, file and line. */
static bool reads_alike(const struct sw_distinct_frame *a, const struct sw_distinct_frame *b)
{
	if (!alike(a->frame, b->frame) || !sw_same_text(a->managed_name, b->managed_name) ||
	    a->frames == NULL || b->frames == NULL)
		return false;
	const struct sw_report_frame *x = &a->frames[a->n_frames - 1];
	const struct sw_report_frame *y = &b->frames[b->n_frames - 1];
	return x->line == y->line && sw_same_text(x->file, y->file) &&
	       sw_same_text(x->signature, y->signature) && sw_same_text(x->tier, y->tier);
}

static void entry_find_alike(struct sw_distinct_frames *s, uint32_t index)
{
	struct sw_distinct_frame *entry = &s->distinct[index];
	uint64_t hash = hash_alike(entry->frame), first = SW_NOTHING;
	(void) sw_map64_get(&s->by_alike, hash, &first); /* stays SW_NOTHING */
	for (uint32_t i = (uint32_t) first; i != SW_NOTHING; i = s->distinct[i].next_alike) {
		if (!reads_alike(&s->distinct[i], entry))
			continue;
		entry->same = i;
		return;
	}
	entry->same = index;
	entry->next_alike = (uint32_t) first;
	s->b->failed |= sw_map64_put(&s->by_alike, hash, index) < 0;
}

static uint32_t entry_add(struct sw_distinct_frames *s, const struct sw_frame *frame, uint64_t key,
			  uint32_t next)
{
	struct sw_distinct_frame *grown =
		sw_grow(s->distinct, s->n_distinct, &s->capacity, 256, sizeof(*grown));
	if (grown == NULL) {
		s->b->failed = true;
		return SW_NOTHING;
	}
	s->distinct = grown;
	uint32_t index = (uint32_t) s->n_distinct++;
	s->distinct[index] = (struct sw_distinct_frame){.frame = frame,
							.next_key = next,
							.next_alike = SW_NOTHING};
	entry_fill(s->b, &s->distinct[index]);
	entry_find_alike(s, index);
	s->b->failed |= sw_map64_put(&s->by_key, key, index) < 0;
	return s->distinct[index].same;
}

uint32_t sw_distinct_frames_get(struct sw_distinct_frames *s, const struct sw_frame *frame)
{
	uint64_t key = sw_mix64(hash_alike(frame) ^ frame->cookie ^ sw_mix64(frame->pc_avma));
	uint64_t first = SW_NOTHING;
	(void) sw_map64_get(&s->by_key, key, &first); /* stays SW_NOTHING */
	for (uint32_t i = (uint32_t) first; i != SW_NOTHING; i = s->distinct[i].next_key)
		if (alike(s->distinct[i].frame, frame) &&
		    s->distinct[i].frame->pc_avma == frame->pc_avma &&
		    s->distinct[i].frame->cookie == frame->cookie)
			return s->distinct[i].same;
	return entry_add(s, frame, key, (uint32_t) first);
}

void sw_distinct_frames_deinit(struct sw_distinct_frames *s)
{
	free(s->distinct);
	sw_map64_deinit(&s->by_key);
	sw_map64_deinit(&s->by_alike);
}
