/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The copy that is made while nothing changes: the thread states of the threads that are captured,
 * the frames that they lead to, and the heads of the code objects of these frames, which may be
 * freed as soon as the process goes on. Frames are copied in blocks, because they lie side by side;
 * stacks are copied anyhow. Memory that only names need is read afterwards.
 *
 * In the window: nothing is allocated, opened or parsed; the reads are bounded by what was set aside.
 */
#include "runtimes/cpython/window.h"
#include "arch/arch.h"
#include "map.h"
#include "runtimes/cpython/structures/code.h"
#include "runtimes/cpython/structures/import.h"
#include "runtimes/cpython/structures/withs.h"
#include "runtimes/cpython/waited.h"
#include "runtimes/cpython/gil.h"
#include "snapshot/snapshot.h"

#include <string.h>

enum {
	SEARCH_WORDS = 512, /* of the stack, at once */
	SEARCHES_MAX = 16,
	TRIES_MAX = 256,
	SAVED_WORDS = 8,
	NAME_BYTES = 512,
	NAMED_MAX = 64,  /* innermost frames of a thread whose names are copied */
	BYTES_SIZE = 16, /* of a bytes object */
	BYTES_DATA = 32,
	TABLE_BYTES_MAX = 8192, /* of a table of lines that is copied */
	ROOT_BYTES = 4096,      /* of a thread state, which has the outermost cframe */
};

/* Memory of the process in the window, which is copied by being read. */
static bool window_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	struct sw_cpython_window *w = arg;
	if (w->stack != NULL && avma >= w->stack->start_avma && avma < w->stack->end_avma)
		return sw_capture_in_stack(w->capture, avma, buffer, length) ||
		       sw_capture_read(w->capture, avma, buffer, length);
	return sw_memory_read(sw_copied_blocks_memory(&w->blocks), avma, buffer, length);
}

static const struct sw_memory_ops window_ops = {.read = window_read};

static const struct sw_thread *thread_of(const struct sw_snapshot *snap, uint64_t id)
{
	for (size_t i = 0; i < snap->n_threads; i++)
		if (snap->threads[i].fs_base == id && snap->threads[i].regs.sp_avma != 0)
			return &snap->threads[i];
	return NULL;
}

/* The lock of the interpreter, when nobody is about to take it or to give it back. */
static void lock_copy(struct sw_cpython_window *w, struct sw_memory memory, uint64_t interp_avma)
{
	uint64_t gil;
	const uint8_t *data;
	if (interp_avma == w->interp_avma)
		return;
	w->interp_avma = interp_avma;
	if (sw_capture_is_whole(w->capture) &&
	    sw_cpython_gil_find(&w->at, memory, interp_avma, &gil))
		(void) sw_capture_copy(w->capture, gil, SW_CPYTHON_GIL_BYTES,
				       &data); /* else: not known */
}

static bool has_group(const struct sw_cpython_chain *chain, uint64_t loop_avma)
{
	for (size_t i = 0; i < chain->n_groups; i++)
		if (chain->groups[i].loop_avma == loop_avma)
			return true;
	return false;
}

/*
 * The innermost activation does not lead to the next one yet, whose cframe is somewhere above on the
 * stack. All that may be it is copied until it is one that was found already; the walk tells which one
 * is it.
 */
static void outer_copy(struct sw_cpython_window *w, struct sw_memory memory, uint64_t thread_avma)
{
	const struct sw_cpython_layout *l = &w->at.layout;
	uint64_t words[SEARCH_WORDS], from = w->chain.innermost_avma + l->cframe_previous + 8;
	uint64_t end = w->stack != NULL ? w->stack->end_avma : 0;
	size_t tried = 0;
	for (size_t n = 0; n < SEARCHES_MAX && from < end; n++, from += sizeof(words)) {
		size_t count = end - from < sizeof(words) ? (end - from) / 8 : SEARCH_WORDS;
		if (!sw_memory_read(memory, from, words, count * 8))
			return; /* the frames further out are read later, and marked */
		for (size_t i = 0; i < count; i++) {
			uint64_t cframe = from + i * 8 - l->cframe_previous;
			bool up = words[i] > cframe && words[i] < end;
			bool root = words[i] - thread_avma < ROOT_BYTES;
			if (words[i] % 8 != 0 || !(up || root))
				continue;
			if (has_group(&w->chain, cframe) || ++tried == TRIES_MAX)
				return;
			(void) sw_cpython_cframes_add(&w->at, memory, cframe, NULL, &w->chain);
		}
	}
}

/*
 * 3.8 to 3.10: the frame that the innermost activation is about to link, or has left, is in a register,
 * or was one in the caller of the function that runs.
 */
static void left_copy(struct sw_cpython_window *w, struct sw_memory memory,
		      const struct sw_regs *regs)
{
	uint64_t values[SW_REGS_MAX + SAVED_WORDS], innermost = w->chain.frames[0].avma;
	size_t n = 0;
	for (unsigned i = 0; i < SW_REGS_MAX; i++)
		n += sw_regs_get(regs, i, &values[n]);
	if (sw_memory_read(memory, regs->sp_avma, values + n, SAVED_WORDS * sizeof(*values)))
		n += SAVED_WORDS;
	for (size_t i = 0; i < n; i++)
		if (values[i] < w->stack->start_avma || values[i] >= w->stack->end_avma)
			(void) sw_cpython_frame_left(&w->at, memory, values[i], innermost);
}

/* The exit of a with statement, by which lock.c knows who is in its body. */
static void with_copy(void *arg, uint64_t object_avma, uint64_t exit_avma)
{
	struct sw_cpython_window *w = arg;
	uint64_t words[4];
	(void) object_avma;
	if (exit_avma != 0) /* else: not known */
		(void) window_read(w, exit_avma + w->at.layout.head_more, words, sizeof(words));
}

/* Before all else: whether somebody waits for a lock of threading. */
static bool waited_copy(void *arg, const struct sw_cpython_thread *thread)
{
	struct sw_cpython_window *w = arg;
	const struct sw_thread *t =
		thread->id != 0 ? thread_of(w->capture->snap, thread->id) : NULL;
	if (t != NULL)
		w->lock_is_waited |= sw_cpython_waited_copy(w->capture, &w->at, t);
	return true;
}

/* All bytes of a table, as it is read: else its lines are read later, if the code is still the same. */
static void table_copy(struct sw_cpython_window *w, struct sw_memory memory, uint64_t avma)
{
	uint8_t part[SW_CPYTHON_BLOCK_BYTES];
	uint64_t size;
	if (avma == 0 || !sw_memory_u64(memory, avma + w->at.layout.head_more + BYTES_SIZE, &size))
		return;
	for (uint64_t from = 0; from < size && from < TABLE_BYTES_MAX; from += sizeof(part)) {
		size_t n = size - from < sizeof(part) ? (size_t) (size - from) : sizeof(part);
		if (!sw_memory_read(memory, avma + w->at.layout.head_more + BYTES_DATA + from, part,
				    n))
			return;
	}
}

/*
 * The memory that names a function: its code, and the objects to which that leads, may be freed as
 * soon as the function returns. Reading them later is as good where the thread runs; a thread that
 * waits in the kernel keeps its code until names have been read.
 */
static void name_copy(struct sw_cpython_window *w, struct sw_memory memory,
		      const struct sw_cpython_code *code)
{
	char text[NAME_BYTES];
	(void) sw_cpython_string(&w->at, memory, code->function_avma, text,
				 sizeof(text)); /* wanted for its reads, as the next one */
	(void) sw_cpython_string(&w->at, memory, code->filename_avma, text, sizeof(text));
	table_copy(w, memory, code->lines_avma);
}

static bool thread_copy(void *arg, const struct sw_cpython_thread *thread)
{
	struct sw_cpython_window *w = arg;
	struct sw_memory memory = {&window_ops, w};
	const struct sw_snapshot *snap = w->capture->snap;
	const struct sw_thread *t = thread->id != 0 ? thread_of(snap, thread->id) : NULL;
	uint64_t word;
	if (t == NULL)
		return true;
	if (w->at.layout.thread_number != SW_CPYTHON_NONE) /* what the note needs; else not there */
		(void) sw_memory_u64(memory, thread->avma + w->at.layout.thread_number, &word);
	lock_copy(w, memory, thread->interp_avma);
	w->stack = sw_snapshot_map(snap, t->regs.sp_avma);
	sw_cpython_chain_reset(&w->chain);
	/* A single deep stack must not take the space for the names of all. */
	w->blocks.max = SW_CPYTHON_BLOCKS_MAX - SW_CPYTHON_BLOCKS_RESERVED;
	sw_cpython_chain_add(&w->at, memory, thread->avma, &t->regs, &w->chain);
	w->blocks.max = SW_CPYTHON_BLOCKS_MAX;
	if (w->chain.innermost_avma != 0 &&
	    (w->chain.n_groups == 0 || w->chain.groups[0].loop_avma != w->chain.innermost_avma))
		outer_copy(w, memory, thread->avma);
	if (w->at.layout.pairing == SW_CPYTHON_BY_CONTENT && w->chain.n_frames > 0 &&
	    w->stack != NULL && t->regs.pc_avma >= w->at.place->start_avma &&
	    t->regs.pc_avma < w->at.place->end_avma)
		left_copy(w, memory, &t->regs);
	struct sw_cpython_import import;
	if (w->lock_is_waited && w->chain.n_frames > 0)
		(void) sw_cpython_import_read(&w->at, memory, &w->chain.frames[0],
					      &import); /* it is copied, or not known */
	for (size_t i = 0; i < w->chain.n_frames; i++) {
		struct sw_cpython_code code;
		uint64_t start;
		if (sw_cpython_code_read(&w->at, memory, w->chain.frames[i].code_avma, &code)) {
			(void) sw_cpython_code_start(&w->at, memory, &code, &w->chain.frames[i],
						     &start);
			if (t->syscall < 0 && i < NAMED_MAX && !sw_capture_is_late(w->capture))
				name_copy(w, memory, &code);
		}
		/* else: it gets no name */
		if (w->lock_is_waited && !sw_capture_is_late(w->capture))
			(void) sw_cpython_withs_each(&w->at, memory, &w->chain.frames[i], with_copy,
						     w); /* else: not known */
	}
	w->stack = NULL;
	return sw_copied_blocks_has_space(&w->blocks);
}

int sw_cpython_in_window(struct sw_capture *capture)
{
	struct sw_cpython_window *w = *capture->found;
	struct sw_memory memory = {&window_ops, w};
	if (w == NULL)
		return 0;
	sw_copied_blocks_begin(&w->blocks, capture);
	w->interp_avma = 0;
	w->capture = capture;
	w->stack = NULL;
	w->lock_is_waited = false;
	(void) sw_cpython_threads_each(&w->at, memory, waited_copy, w);
	(void) sw_cpython_threads_each(&w->at, memory, thread_copy, w);
	if (w->tasks != NULL) /* last: what threads need comes first */
		sw_cpython_tasks_copy(capture, w->tasks);
	w->capture = NULL;
	return 0;
}
