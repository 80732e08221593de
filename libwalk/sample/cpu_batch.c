/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sample/cpu_batch.h"
#include "events/operands.h"
#include "sample/called.h"
#include "sample/cpu_base.h"
#include "snapshot/snapshot.h"
#include "walk/active.h"

#include <snapwalk/clock.h>
#include <string.h>

static bool has_thread(const struct sw_cpu_sampler *s, pid_t tid)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->threads[i].tid == tid)
			return true;
	return false;
}

static bool has_replaced(const struct sw_copy *copy)
{
	for (size_t i = 0; i < copy->n_parts; i++)
		if (copy->parts[i].kind == SW_CALLED_RETURNS)
			return true;
	return false;
}

/* The bytes of a part of the stack: those of the record, or a copy where the kernel has replaced words of them. *used is
 * how much of the sampler's own space has been taken. */
static const uint8_t *stack_data(struct sw_cpu_sampler *s, const struct sw_copy_part *part,
				 size_t *used)
{
	if (!has_replaced(&s->said) || part->bytes > SW_CPU_BATCH * s->stack_bytes - *used)
		return part->data;
	uint8_t *to = s->stacks + *used;
	memcpy(to, part->data, part->bytes);
	if (sw_called_put_back(&s->said, part->avma, to, part->bytes) == 0)
		return part->data;
	*used += part->bytes;
	return to;
}

/* The first part is the stack up to its end, or to a hole. */
void sw_cpu_copy_add(struct sw_cpu_sampler *s)
{
	const struct sw_copy *copy = &s->copy;
	struct sw_thread *t = &s->threads[0];
	struct sw_snapshot *snap = s->snap;
	*t = (struct sw_thread){.tid = (pid_t) copy->head.tid,
				.state = 'R',
				.captured = true,
				.captured_by = SW_CAPTURED_EVENT,
				.cpu_ns = -1,
				.stop_ns = -1};
	sw_arch_thread_fill(t, &copy->regs);
	t->stack_avma = t->stack_end_avma = t->regs.sp_avma;
	t->copy = copy;
	snap->n_ranges = 0;
	size_t used = 0;
	for (size_t i = 0; i < copy->n_parts; i++) {
		const struct sw_copy_part *part = &copy->parts[i];
		const uint8_t *data = part->kind == SW_SAMPLED_KIND_STACK
					      ? stack_data(s, part, &used)
					      : part->data;
		if (i == 0 && part->kind == SW_SAMPLED_KIND_STACK &&
		    part->avma <= t->regs.sp_avma) {
			t->stack_avma = part->avma;
			t->stack = data;
			t->stack_bytes = part->bytes;
			continue;
		}
		s->ranges[snap->n_ranges++] = (struct sw_range){part->avma, part->bytes, data};
	}
	const struct sw_map *map = sw_snapshot_map(snap, t->regs.sp_avma);
	if (map != NULL)
		t->stack_end_avma = map->end_avma;
	memcpy(t->comm, copy->head.comm, sizeof(copy->head.comm) - 1);
	if (!sw_active_renew(&s->kept))
		s->generation++; /* cookies mean something else now */
	s->n = 1;
}

static void thread_add(struct sw_cpu_sampler *s, const struct sw_events_sample *sample)
{
	uint8_t *stack = s->stacks + s->n * s->stack_bytes;
	struct sw_thread *t = &s->threads[s->n];
	size_t bytes = sample->stack_bytes < s->stack_bytes ? sample->stack_bytes : s->stack_bytes;
	memcpy(stack, sample->stack, bytes);
	*t = (struct sw_thread){.tid = sample->tid,
				.state = 'R',
				.captured = true,
				.captured_by = SW_CAPTURED_EVENT,
				.cpu_ns = -1,
				.stop_ns = -1,
				.stack = stack};
	sw_arch_thread_fill(t, &sample->regs);
	const struct sw_map *map = sw_snapshot_map(s->snap, t->regs.sp_avma);
	t->stack_avma = t->regs.sp_avma;
	t->stack_bytes = bytes;
	t->stack_end_avma = map != NULL ? map->end_avma : t->stack_avma + bytes;
	sw_cpu_names_find(&s->names, t->tid, t->comm);
	s->n++;
}

/* Copies of a program whose maps are not known any more are left out. */
static bool copy_next(struct sw_cpu_sampler *s)
{
	while (sw_copies_next(s->copies, &s->copy)) {
		if (s->exec_id_old == 0 || s->copy.head.exec_id != s->exec_id_old || s->by_calls)
			return true;
		s->n_left++;
	}
	return false;
}

/* Records of the kernel first: what a copy is of may be told by one that came before it. */
static enum sw_events_kind event_next(struct sw_cpu_sampler *s)
{
	enum sw_events_kind kind = sw_events_next(s->events, &s->event);
	if (kind != SW_EVENTS_NONE || s->copies == NULL)
		return kind;
	if (!s->has_copy && !copy_next(s))
		return SW_EVENTS_NONE;
	s->has_copy =
		s->copy.head.exec_id != s->exec_id && (s->copy.head.flags & SW_CALLED_ALONE) == 0;
	if (s->has_copy) {
		s->exec_id_before = s->exec_id;
		s->exec_id = s->copy.head.exec_id;
	}
	if (s->has_copy) /* of another program, whose record is there by now */
		return event_next(s);
	s->event = (struct sw_events_sample){.tid = (pid_t) s->copy.head.tid, .regs = s->copy.regs};
	return SW_EVENTS_SAMPLE;
}

/* Whether an event has no stack: it needs none; or that is of a program whose maps are not known any more, or lacks
 * frames. */
static bool is_alone(const struct sw_cpu_sampler *s)
{
	bool old = s->base_exec_id != 0 && s->copy.head.exec_id < s->base_exec_id;
	return (s->copy.head.flags & SW_CALLED_ALONE) != 0 || s->snap == NULL || old ||
	       sw_cpu_lacks_frames(s);
}

/* Whether a copy is of a program that is newer than the maps. */
static bool is_newer(const struct sw_cpu_sampler *s)
{
	return s->base_exec_id != 0 ? s->copy.head.exec_id > s->base_exec_id : s->program_came;
}

/* A probe that the program declares has its arguments where it says. */
static void operands_take(struct sw_cpu_sampler *s)
{
	struct sw_event *e = &s->happened;
	if (s->places == NULL || e->kind != SW_EVENT_ENTERED || e->place >= s->wanted.n_places ||
	    !s->places[e->place].is_declared)
		return;
	const struct sw_event_place *place = &s->places[e->place];
	e->n_arguments = place->n_operands;
	for (size_t i = 0; i < place->n_operands; i++)
		if (!sw_operand_value(&place->operands[i], &s->copy, &e->arguments[i])) {
			e->arguments[i] = 0;
			e->arguments_unknown |= 1U << i;
		}
}

/* Takes the event of a copy, if it is of one. The parts that say it, and which return addresses have been replaced, go before
 * those of the process, and are no memory of that. */
static bool called_take(struct sw_cpu_sampler *s)
{
	bool taken = !s->by_calls || sw_called_read(&s->copy, &s->happened);
	s->happened.of_first = s->copy.head.exec_id <= s->first_exec_id;
	operands_take(s);
	s->said = s->copy;
	while (s->copy.n_parts > 0 && s->copy.parts[0].kind >= SW_CALLED_EVENT) {
		s->copy.parts++;
		s->copy.n_parts--;
	}
	return taken;
}

/* The last event of a process is walked by maps that were read while it was there. */
static bool is_due_for_death(const struct sw_cpu_sampler *s)
{
	return s->wanted.what == SW_EVENT_DEATH && s->code_came &&
	       sw_clock_ns() - s->base_ns > SW_CPU_CODE_NS;
}

/* New code may have the function, in a file that has taken the place of the old one, where there are no probes: whoever looks
 * it up anew is another process, as nothing is read here any more. */
static bool is_due_for_function(const struct sw_cpu_sampler *s)
{
	return s->fixed && s->wanted.what == SW_EVENT_FUNCTION && s->code_came;
}

/* A child has the breakpoints, too, as links keep them there (events/uprobes.h), and nobody counts what they take of it.
 * Whoever begins anew takes them out. */
static bool is_due_for_children(const struct sw_cpu_sampler *s)
{
	/* At most so often, as events are missed meanwhile. */
	enum { CHILDREN_MS = 5000, NS_PER_MS = 1000000 };
	return s->fixed && s->linked && s->child_came &&
	       sw_clock_ns() - s->base_ns > (int64_t) CHILDREN_MS * NS_PER_MS;
}

void sw_cpu_batch_fill(struct sw_cpu_sampler *s, bool *new_program)
{
	enum { NAMES_MAX = 65536 }; /* a process names its threads as fast as it likes */
	size_t n_names = 0;
	s->n = 0;
	s->alone = false;
	while (s->n < SW_CPU_BATCH && !s->base_old && n_names < NAMES_MAX) {
		const bool again = s->has_kept;
		enum sw_events_kind kind = again ? SW_EVENTS_SAMPLE : event_next(s);
		s->has_kept = false;
		/* No call of another program may ever come: whether they are followed is seen now. */
		s->base_old = kind == SW_EVENTS_NONE && s->by_calls &&
			      (s->program_came || is_due_for_death(s) || is_due_for_function(s) ||
			       is_due_for_children(s));
		if (kind == SW_EVENTS_NONE)
			return;
		if (kind == SW_EVENTS_NAME) {
			sw_cpu_names_note(&s->names, &s->event);
			n_names++;
			continue;
		}
		if (kind == SW_EVENTS_CHILD) {
			s->child_came = true;
			continue;
		}
		/* No program is there; the kernel says which addresses on stacks are of that page. */
		if (kind == SW_EVENTS_CODE && s->event.of_probes && s->fixed)
			continue;
		if (kind != SW_EVENTS_SAMPLE) {
			s->code_came = true;
			if (kind == SW_EVENTS_PROGRAM)
				s->exec_id_old = s->has_copy ? s->exec_id_before : s->exec_id;
			s->program_came |= kind == SW_EVENTS_PROGRAM;
			/* Copies say themselves which program they are of. */
			s->base_old = kind == SW_EVENTS_PROGRAM && !s->by_calls;
			*new_program |= kind == SW_EVENTS_PROGRAM;
			continue;
		}
		if (s->copies != NULL && !again && !called_take(s)) {
			s->n_left++; /* nothing says what it is of */
			continue;
		}
		if (s->by_calls && is_alone(s)) {
			s->alone = true;
			s->lacks_stacks |=
				s->snap == NULL && (s->copy.head.flags & SW_CALLED_ALONE) == 0;
			return;
		}
		if (s->by_calls && is_newer(s)) {
			s->has_kept = s->base_old = true;
			return;
		}
		s->has_kept = has_thread(s, s->event.tid);
		if (s->has_kept)
			return;
		if (sw_arch_is_32bit(&s->event.regs) != (s->snap->process.elf_class == 32))
			continue; /* code of the other kind: Wine's new WoW64 */
		/* No sample is walked by old maps for long. */
		if (!s->program_came && sw_cpu_maps_are_old(s, sw_arch_user_pc(&s->event.regs))) {
			s->has_kept = s->base_old = true;
			return;
		}
		if (!again && !s->program_came && sw_cpu_is_announced(s)) {
			s->has_kept = s->base_old = true;
			return;
		}
		if (sw_cpu_lacks_frames(s) && !s->by_calls) {
			s->n_left++;
			continue;
		}
		if (s->copies != NULL) { /* a snapshot is of one instant */
			s->n_native += s->lacks_runtime;
			sw_cpu_copy_add(s);
			return;
		}
		thread_add(s, &s->event);
	}
}

void sw_cpu_rest_count(struct sw_cpu_sampler *s)
{
	enum { RECORDS_MAX = 1 << 20 };
	enum sw_events_kind kind = SW_EVENTS_NONE;
	s->n_left += s->has_kept;
	s->has_kept = false;
	for (int i = 0; i < RECORDS_MAX; i++) {
		kind = event_next(s);
		if (kind == SW_EVENTS_NONE)
			break;
		s->n_left += kind == SW_EVENTS_SAMPLE;
	}
}
