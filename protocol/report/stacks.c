/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The distinct stacks. A thousand threads have 36,000 frames but only some hundred distinct ones
 * ("distinct"), so that each entry is looked up, named and copied once, and stacks are compared as
 * sequences of entry numbers.
 */
#include "cleanup.h"
#include "report/distinct.h"
#include "report/frame_kind.h"
#include "report/plumbing.h"
#include "stack_id.h"
#include "report/build.h"

#include <snapwalk/protocol.h>

#include <stdlib.h>

/* A distinct stack. */
struct group {
	const struct sw_walk *walk; /* the first thread's */
	const uint32_t *distinct;   /* walk->n_frames numbers */
	uint32_t next;              /* next group with the same hash */
	uint32_t first; /* the first thread's number, behind which the walks of no thread are */
	size_t n_threads, n_goroutines, n_tasks;
};

struct stacks {
	struct sw_report_builder *b;
	struct sw_distinct_frames distinct;
	uint32_t *sequence;   /* owned; the distinct of all walks, one after the other */
	struct group *groups; /* owned; space for one per walk */
	size_t n_groups;
	struct sw_map64 by_sequence; /* hash -> first group */
	uint32_t *group_of_walk;     /* owned */
};

static const struct sw_kernel_stack *kernel_of(const struct sw_walk *walk)
{
	return walk->thread != NULL ? walk->thread->kernel : NULL;
}

static bool same_stack(const struct group *group, const struct sw_walk *walk,
		       const uint32_t *distinct)
{
	return group->walk->n_frames == walk->n_frames && group->walk->end == walk->end &&
	       kernel_of(group->walk) == kernel_of(walk) &&
	       group->walk->n_trimmed == walk->n_trimmed &&
	       group->walk->n_left_out == walk->n_left_out &&
	       sw_same_text(group->walk->why, walk->why) &&
	       memcmp(group->distinct, distinct, walk->n_frames * sizeof(*distinct)) == 0;
}

static uint32_t group_of(struct stacks *s, const struct sw_walk *walk, const uint32_t *distinct)
{
	uint64_t hash = sw_mix64(walk->n_frames ^ (uint64_t) walk->end << 32), first = SW_NOTHING;
	for (size_t f = 0; f < walk->n_frames; f++)
		hash = sw_mix64(hash ^ distinct[f]);
	(void) sw_map64_get(&s->by_sequence, hash, &first); /* stays SW_NOTHING */
	for (uint32_t i = (uint32_t) first; i != SW_NOTHING; i = s->groups[i].next)
		if (same_stack(&s->groups[i], walk, distinct))
			return i;
	uint32_t index = (uint32_t) s->n_groups++;
	const struct sw_walks *walks = s->b->walks;
	size_t number = walk->thread != NULL
				? (size_t) (walk->thread - walks->snap->threads)
				: walks->snap->n_threads + (size_t) (walk - walks->walks);
	s->groups[index] = (struct group){.walk = walk,
					  .distinct = distinct,
					  .next = (uint32_t) first,
					  .first = (uint32_t) number};
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
	uint32_t *distinct = s->sequence;
	for (size_t i = 0; i < walks->n_walks; i++) {
		const struct sw_walk *walk = &walks->walks[i];
		for (size_t f = 0; f < walk->n_frames; f++)
			distinct[f] = sw_distinct_frames_get(&s->distinct, &walk->frames[f]);
		if (s->b->failed)
			return;
		s->group_of_walk[i] = group_of(s, walk, distinct);
		s->groups[s->group_of_walk[i]].n_threads += walk->thread != NULL;
		s->groups[s->group_of_walk[i]].n_goroutines += walk->goroutine != NULL;
		s->groups[s->group_of_walk[i]].n_tasks += walk->task != NULL;
		distinct += walk->n_frames;
	}
}

static uint64_t id_of(struct stacks *s, const struct group *group, struct sw_text *bytes)
{
	const struct sw_kernel_stack *kernel = kernel_of(group->walk);
	bytes->size = 0;
	for (size_t f = 0; kernel != NULL && f < kernel->n_frames; f++)
		sw_stack_id_add(bytes,
				&(struct sw_stack_id_frame){.name = kernel->frames[f].function});
	for (size_t f = 0; f < group->walk->n_frames; f++) {
		const struct sw_distinct_frame *entry = &s->distinct.distinct[group->distinct[f]];
		const struct sw_place *place = entry->frame->place;
		struct sw_stack_id_frame id = {.name = entry->managed_name};
		if (id.name == NULL && sw_place_is_image(place)) {
			id.build_id = sw_module_build_id(place->module, &id.build_id_bytes);
			id.path = sw_module_path(place->module);
			id.offset = entry->frame->pc_avma -
				    (place->resolved == 1 ? place->bias : place->start_avma);
		}
		sw_stack_id_add(bytes, &id);
	}
	s->b->failed |= bytes->failed;
	return sw_stack_id(bytes);
}

/* The kernel tells no addresses. */
static void kernel_fill(struct stacks *s, const struct sw_kernel_stack *kernel,
			struct sw_report_stack *stack)
{
	struct sw_report_frame *frames =
		kernel == NULL ? NULL : sw_report_calloc(s->b, kernel->n_frames, sizeof(*frames));
	for (size_t f = 0; frames != NULL && f < kernel->n_frames; f++)
		frames[f] = (struct sw_report_frame){
			.module = -1,
			.function = sw_report_copy(s->b, kernel->frames[f].function),
			.function_offset = kernel->frames[f].offset,
			.line_offset = -1,
			.kind = SW_FRAME_KIND_KERNEL,
			.by = SW_FRAME_KIND_KERNEL,
			.trust = sw_trust_name(SW_TRUST_RUNTIME),
		};
	stack->kernel_frames = frames;
	stack->n_kernel_frames = frames == NULL ? 0 : kernel->n_frames;
}

static void stack_fill(struct stacks *s, const struct group *group, struct sw_text *bytes,
		       struct sw_report_stack *ret)
{
	size_t n_frames = 0, at = 0;
	for (size_t f = 0; f < group->walk->n_frames; f++)
		n_frames += s->distinct.distinct[group->distinct[f]].n_frames;
	struct sw_report_frame *frames = sw_report_calloc(s->b, n_frames, sizeof(*frames));
	if (frames == NULL)
		return;
	size_t behind = 0;
	for (size_t f = 0; f < group->walk->n_frames; f++) {
		const struct sw_distinct_frame *entry = &s->distinct.distinct[group->distinct[f]];
		if (group->walk->n_left_out > 0 && f + SW_OUTER_FRAMES == group->walk->n_frames)
			behind = at;
		memcpy(frames + at, entry->frames, entry->n_frames * sizeof(*frames));
		at += entry->n_frames;
	}
	sw_report_mark_plumbing(frames, n_frames);
	sw_frames_mark_exact(frames, n_frames);
	*ret = (struct sw_report_stack){
		.id = id_of(s, group, bytes),
		.threads = sw_report_calloc(s->b, group->n_threads, sizeof(*ret->threads)),
		.goroutines = sw_report_calloc(s->b, group->n_goroutines, sizeof(*ret->goroutines)),
		.tasks = sw_report_calloc(s->b, group->n_tasks, sizeof(*ret->tasks)),
		.end = sw_end_name(group->walk->end),
		.why = sw_report_copy_shared(s->b, group->walk->why),
		.frames = frames,
		.n_frames = n_frames,
		.n_trimmed = group->walk->n_trimmed,
		.n_left_out = behind > 0 ? group->walk->n_left_out : 0,
		.left_out_before = behind,
	};
	kernel_fill(s, kernel_of(group->walk), ret);
}

/* Most threads first, then most goroutines or tasks, then by the first. Groups were found in that
 * order. */
static int compare_groups(const void *a, const void *b)
{
	const struct group *x = *(const struct group *const *) a;
	const struct group *y = *(const struct group *const *) b;
	if (x->n_threads != y->n_threads)
		return x->n_threads > y->n_threads ? -1 : 1;
	size_t n = x->n_goroutines + x->n_tasks, m = y->n_goroutines + y->n_tasks;
	if (n != m && x->n_threads == 0)
		return n > m ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

static void goroutine_fill(struct sw_report_builder *b, const struct sw_goroutine *from,
			   struct sw_report_goroutine *ret)
{
	*ret = (struct sw_report_goroutine){
		.id = from->id,
		.state = from->state,
		.scanned = from->scanned,
		.wait_reason = sw_report_copy_shared(b, from->wait_reason),
		.since_ms = from->since_ns < 0 ? -1 : from->since_ns / 1000000,
		.created_by = sw_report_copy_shared(b, from->created_by),
		.created_file = sw_report_copy_shared(b, from->created_file),
		.created_line = from->created_line,
		.created_by_id = from->created_by_id,
		.tid = from->tid,
	};
}

static void task_fill(struct sw_report_builder *b, const struct sw_task *from,
		      struct sw_report_task *ret)
{
	*ret = (struct sw_report_task){
		.address_avma = from->address_avma,
		.name = sw_report_copy(b, from->name),
		.state = from->state,
		.waits_for_avma = from->waits_for_avma,
		.waits_for_name = sw_report_copy(b, from->waits_for_name),
		.tid = from->tid,
		.registered = sw_report_copy(b, from->registered),
		.initial_call = sw_report_copy(b, from->initial_call),
		.has_messages = from->has_messages,
		.messages = from->messages > INT64_MAX ? INT64_MAX : from->messages,
	};
}

static void assign_threads(struct stacks *s, const uint32_t *stack_of_group)
{
	const struct sw_walks *walks = s->b->walks;
	struct sw_report *report = s->b->report;
	for (size_t i = 0; i < walks->n_walks; i++) {
		uint32_t index = stack_of_group[s->group_of_walk[i]];
		struct sw_report_stack *stack = &report->stacks[index];
		/* casts: the arrays are the report's own, still in the making */
		if (walks->walks[i].goroutine != NULL)
			goroutine_fill(s->b, walks->walks[i].goroutine,
				       (struct sw_report_goroutine *) &stack
					       ->goroutines[stack->n_goroutines++]);
		if (walks->walks[i].task != NULL)
			task_fill(s->b, walks->walks[i].task,
				  (struct sw_report_task *) &stack->tasks[stack->n_tasks++]);
		if (walks->walks[i].thread == NULL)
			continue;
		size_t thread = (size_t) (walks->walks[i].thread - walks->snap->threads);
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
	struct stacks s = {.b = b, .distinct.b = b};
	find_groups(&s);
	if (!b->failed)
		fill_report(&s);
	sw_distinct_frames_deinit(&s.distinct);
	free(s.sequence);
	free(s.groups);
	free(s.group_of_walk);
	sw_map64_deinit(&s.by_sequence);
}
