/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * All processes, copied while nothing changes. There may be very many: they are read many at once, and of
 * stacks only what is in use.
 *
 * In the window: nothing is allocated, opened or parsed.
 */
#include "runtimes/beam/processes_window.h"
#include "unwind/copied.h"

#include <string.h>

static uint64_t word_of(const uint8_t *bytes, size_t i)
{
	uint64_t word;
	memcpy(&word, bytes + i * 8, sizeof(word));
	return word;
}

/* Many reads of one kind. */
struct batch {
	struct sw_capture_read reads[SW_CAPTURE_READS];
	size_t n;
};

static void add(struct batch *b, uint64_t avma, uint64_t bytes)
{
	b->reads[b->n++] = (struct sw_capture_read){.avma = avma, .bytes = (size_t) bytes};
}

static void stack_names(struct sw_capture *capture, struct sw_beam_window *w,
			const struct sw_capture_read *stack)
{
	for (size_t i = 0; stack->ok && i < stack->bytes / 8; i++) {
		uint64_t word = word_of(stack->buffer, i);
		if ((word & 3) == 0 && sw_beam_window_module(w, word) != 0)
			sw_beam_window_function(capture, w, word - 1);
	}
}

static void process_look(struct sw_capture *capture, struct sw_beam_window *w, const uint8_t *bytes,
			 struct batch *stacks, struct batch *others)
{
	struct sw_beam_full p;
	const uint8_t *copy;
	if (!sw_beam_full_parse(w->found.layout, bytes, &p))
		return;
	if (p.registered_avma != 0 && p.registered_avma % 8 == 0)
		add(others, p.registered_avma, SW_BEAM_REGISTERED_BYTES);
	if (!sw_beam_is_parked(p.state))
		return;
	if (sw_beam_window_module(w, p.next_avma) != 0)
		sw_beam_window_function(capture, w, p.next_avma);
	else if (p.current_avma != 0 && p.current_avma % 8 == 0)
		(void) sw_capture_copy(capture, p.current_avma, SW_BEAM_MFA_BYTES,
				       &copy); /* else it has no name */
	if (p.stop_avma % 8 == 0 && p.hend_avma > p.stop_avma &&
	    p.hend_avma - p.stop_avma <= SW_BEAM_OWN_STACK_MAX)
		add(stacks, p.stop_avma, (p.hend_avma - p.stop_avma) & ~UINT64_C(7));
}

static void batch_copy(struct sw_capture *capture, struct sw_beam_window *w,
		       struct batch *processes)
{
	struct batch stacks, others;
	stacks.n = others.n = 0;
	sw_capture_copy_many(capture, processes->reads, processes->n);
	for (size_t i = 0; i < processes->n; i++)
		if (processes->reads[i].ok)
			process_look(capture, w, processes->reads[i].buffer, &stacks, &others);
	sw_capture_copy_many(capture, stacks.reads, stacks.n);
	sw_capture_copy_many(capture, others.reads, others.n);
	for (size_t i = 0; i < stacks.n && !w->processes_cut; i++) {
		stack_names(capture, w, &stacks.reads[i]);
		w->processes_cut = sw_capture_is_late(capture);
	}
	processes->n = 0;
}

void sw_beam_processes_copy(struct sw_capture *capture, struct sw_beam_window *w)
{
	const uint8_t *table;
	uint64_t avma, n;
	struct batch processes;
	processes.n = 0;
	w->processes_cut = false;
	if (!sw_beam_table_read(sw_copied_memory(capture), &w->found, &avma, &n))
		return;
	if (n > SW_BEAM_TABLE_MAX)
		n = SW_BEAM_TABLE_MAX;
	w->processes_cut = !sw_capture_copy(capture, avma, (size_t) n * 8, &table);
	for (uint64_t i = 0; i < n && !w->processes_cut; i++) {
		uint64_t process = word_of(table, i);
		if (process == 0 || process % 8 != 0)
			continue;
		add(&processes, process, SW_BEAM_FULL_BYTES);
		if (processes.n == SW_CAPTURE_READS) {
			batch_copy(capture, w, &processes);
			w->processes_cut |= sw_capture_is_late(capture);
		}
	}
	if (!w->processes_cut)
		batch_copy(capture, w, &processes);
}
