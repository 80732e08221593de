/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_CHAIN_H
#define SW_CPYTHON_CHAIN_H

#include "runtimes/cpython/structures/find.h"

/*
 * The frames of a thread, as the interpreter has them linked:
 *
 *	thread state -> innermost frame -> previous -> ...
 *
 * in groups: those that one activation of its loop executes.
 */
struct sw_cpython_frame {
	uint64_t avma;
	uint64_t code_avma;
	uint64_t instruction; /* its address; 3.8 to 3.10: offset in the code, as they count it */
	bool generator;       /* of a generator or coroutine */
	int32_t copy;         /* of its code's instructions */
};

struct sw_cpython_group {
	uint64_t loop_avma; /* lies in the native frame of the loop */
	size_t first, n;    /* of the frames, innermost first */
};

struct sw_cpython_chain {
	struct sw_cpython_frame *frames; /* borrowed: space for frames_max */
	size_t frames_max, n_frames;
	struct sw_cpython_group *groups; /* borrowed: space for SW_CPYTHON_GROUPS_MAX */
	size_t n_groups;
	uint64_t innermost_avma; /* 3.11, 3.12: the innermost cframe, whole or not; 0: none */
	bool partial; /* set by who wants it: frames of an activation that cannot be read to its end stay */
	bool limited; /* it has more frames or activations than the limits */
	/* The first activation, 3.8 to 3.10 frame, that is not whole, from the innermost one on; 0: none. */
	uint64_t missed_avma;
	bool unproven; /* 3.11, 3.12: that has a frame which has not begun, and whose caller is not known */
};

/* Empties it; the space stays. */
static inline void sw_cpython_chain_reset(struct sw_cpython_chain *chain)
{
	chain->n_frames = chain->n_groups = 0;
	chain->innermost_avma = chain->missed_avma = 0;
	chain->unproven = chain->limited = false;
}

enum {
	SW_CPYTHON_FRAMES_MAX = 16384,       /* of one thread, with its registers */
	SW_CPYTHON_WALK_FRAMES_MAX = 131072, /* in a walk: more than are shown of a stack */
	SW_CPYTHON_GROUPS_MAX = 8192,
	SW_CPYTHON_INTERPRETERS_MAX = 64,
	SW_CPYTHON_THREADS_MAX = 8192, /* of one interpreter */
};

/* A thread state. */
struct sw_cpython_thread {
	uint64_t avma, interp_avma;
	uint64_t id; /* of the C library: what a thread's fs_base is */
};

/* Calls each for every thread state of every interpreter, until it answers false. False: some are not there, as what
 * leads to them could not be read. */
bool sw_cpython_threads_each(const struct sw_cpython_at *at, struct sw_memory memory,
			     bool (*each)(void *arg, const struct sw_cpython_thread *thread),
			     void *arg);

/*
 * Adds the frames of a thread state. A group is there only when it is whole, and fits to its
 * neighbours: the interpreter may have been interrupted while it entered or left one. regs are those
 * that the thread was interrupted with. Frames of versions that are paired by content are one group without loop.
 */
void sw_cpython_chain_add(const struct sw_cpython_at *at, struct sw_memory memory,
			  uint64_t thread_avma, const struct sw_regs *regs,
			  struct sw_cpython_chain *chain);

/* The same from an activation on (3.8 to 3.10: a frame), as missed_avma says it. */
void sw_cpython_chain_go_on(const struct sw_cpython_at *at, struct sw_memory memory,
			    uint64_t from_avma, struct sw_cpython_chain *chain);

/*
 * 3.11, 3.12: adds what the cframe leads to, itself first. regs: those that the thread was interrupted
 * with if it is the innermost; else NULL. How many activations.
 */
size_t sw_cpython_cframes_add(const struct sw_cpython_at *at, struct sw_memory memory,
			      uint64_t cframe, const struct sw_regs *regs,
			      struct sw_cpython_chain *chain);

/*
 * 3.8 to 3.10: whether avma is a frame that the innermost one called and that is not executed: its
 * activation has not linked it yet, or has left it.
 */
bool sw_cpython_frame_left(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t avma,
			   uint64_t innermost_avma);

/* A frame as it is. False when it cannot be read. */
bool sw_cpython_frame_read(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t avma,
			   struct sw_cpython_frame *ret, uint64_t *ret_previous, bool *ret_last);

#endif
