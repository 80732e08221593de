/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_UNWINDER_H
#define SW_UNWINDER_H

#include "memory.h"
#include "text.h"

#include <snapwalk/walk.h>

/*
 * How to add an unwinder, that is, a kind of tables: write NAME.c and NAME.h with a const struct
 * sw_unwinder_ops, put it into the table of walk/tables.c at its place in the order of preference, add
 * a unit test, a live target and a fuzzer for what it parses. Nothing else has to change. A managed
 * runtime or an interpreter is not an unwinder: unwind/runtime.h.
 *
 * Unwinders never append frames, set trust or loop over a stack: the walker does, so that none can
 * claim what is not so or run without end. They are asked for ONE step at a time.
 */

/* Kinds of code an unwinder may be asked about: bits of 1 << enum sw_module_kind. Code that belongs
 * to no module counts as SW_MODULE_ANON. */
enum {
	SW_CODE_ELF = 1 << SW_MODULE_ELF,
	SW_CODE_VDSO = 1 << SW_MODULE_VDSO,
	SW_CODE_PE = 1 << SW_MODULE_PE,
	SW_CODE_JIT = 1 << SW_MODULE_JIT,
	SW_CODE_ANON = 1 << SW_MODULE_ANON,
};

enum sw_step {
	SW_STEP_OK,      /* *ret is the caller's frame */
	SW_STEP_DECLINE, /* not mine: ask the next unwinder */
	SW_STEP_END,     /* proven: this is the thread's first frame */
	SW_STEP_FAIL,    /* mine, but it cannot be done; ret->end and ret->why say why. Unwinders of
			    lower trust are still asked, unless memory is what is missing, or
			    ret->final is set */
};

/* The state of steps by frame pointer, from one to the next. Zeroed for each thread. */
struct sw_leap {
	uint64_t to_avma; /* what rbp leads to, while guesses before it are listed; else 0 */
};

/* The view of a step. The walker owns it; memory reads are counted and marked there. */
struct sw_cursor {
	const struct sw_snapshot *snap;
	const struct sw_thread *thread;
	struct sw_memory memory; /* the thread's stack, copied ranges, module images, then live */
	struct sw_regs regs;     /* of the frame to step out of */
	const struct sw_place *place; /* module at lookup_avma, or NULL */
	uint64_t lookup_avma;         /* pc, or pc - 1 when pc is a return address */
	bool exact_pc;
	size_t depth;                        /* frames so far, 1 for the first step */
	uint64_t callee_avma;                /* pc of the frame before this one; 0 for the first */
	const struct sw_active_list *active; /* who is asked, for sw_walk_ahead(); NULL: nobody */
	size_t *ahead_left;                  /* steps that it may still make for this thread */
	size_t *straight_left; /* instructions of long functions, likewise; NULL: none */
	const struct sw_walk_options *options; /* NULL: the defaults */
	struct sw_leap *leap;                  /* NULL: nothing is listed */
};

/* The reason to end if avma cannot be read: the copy of the stack ended, or it is no stack. */
static inline enum sw_end sw_cursor_memory_end(const struct sw_cursor *cursor, uint64_t avma)
{
	const struct sw_thread *t = cursor->thread;
	return avma >= t->stack_avma && avma < t->stack_end_avma ? SW_END_STACK_LIMIT
								 : SW_END_MEMORY;
}

/* End of the stack that the frame is on: of the mapping that holds sp; sp when there is none. */
static inline uint64_t sw_cursor_stack_end(const struct sw_cursor *cursor)
{
	const struct sw_thread *t = cursor->thread;
	uint64_t sp = cursor->regs.sp_avma;
	if (sp >= t->stack_avma && sp < t->stack_end_avma)
		return t->stack_end_avma;
	const struct sw_map *map = sw_snapshot_map(cursor->snap, sp);
	return map != NULL ? map->end_avma : sp;
}

/* The answer of a step. The walker zeroes it before. */
struct sw_stepped {
	struct sw_regs regs; /* OK: the caller's registers */
	uint32_t flags;      /* OK: SW_FRAME_EXACT_PC, _MAY_MISS, _LIVE_READ for the caller's
				frame */
	bool callee_signal;  /* OK: the frame stepped out of is a signal trampoline */
	bool weak;           /* OK: found with ops->weak_trust instead of ops->trust */
	bool other_stack;    /* OK: the caller's frame is on another stack, which may lie below */
	bool final;          /* FAIL: ask nobody else, their tables are wrong here */
	uint8_t source;      /* OK: index into ops->sources */
	enum sw_end end;     /* FAIL */
	const char *why;     /* FAIL, END: static string */
};

struct sw_capture; /* what a hook may do: unwind/capture.h */

struct sw_unwinder_ops {
	const char *name;         /* wire name, frames' "by" */
	const char *kind;         /* wire name of the code it owns, frames' "kind"; NULL: none */
	enum sw_trust trust;      /* of the frames it finds */
	enum sw_trust weak_trust; /* when sw_stepped.weak is set; not better than trust */
	uint32_t kinds;           /* SW_CODE_* it may be asked about */
	/* Optional: wire names of its tables instead of name, by sw_stepped.source; ends with NULL. */
	const char *const *sources;

	/* Optional. Whether the process has what it is for, by maps and modules: a look-up, no more.
	 * False: it is not asked for anything else. */
	bool (*probe)(const struct sw_snapshot *snap);

	/*
	 * Optional. Before the window, target running: look at maps and modules and say, by
	 * sw_capture_want(), which bounded ranges must be copied. May open and parse. The state
	 * that it keeps in *capture->found is given to attach().
	 */
	int (*prepare)(struct sw_capture *capture);

	/*
	 * Optional. Target running, and only its maps are read: opens the files beside the process that prepare() opens
	 * (snapshot/side_file.h), by sw_capture_open_stat() and sw_capture_proc_read(), and does nothing else.
	 */
	int (*files)(struct sw_capture *capture);

	/*
	 * Optional. In the window, nothing of the target changes: copy bounded ranges with
	 * sw_capture_copy(), nothing else. No allocation, no opening, no parsing beyond following
	 * pointers, a named limit on each loop.
	 */
	int (*capture)(struct sw_capture *capture);

	/* Optional. Once per walk of a snapshot, target running again: make *ret_state. found is what
	 * prepare() and capture() kept; NULL when nothing, and for what was not taken from a process. */
	int (*attach)(const struct sw_snapshot *snap, void *found, void **ret_state);
	void (*detach)(void *state); /* frees it; called with what attach made, NULL allowed */
	bool lasts; /* what attach() makes depends on maps and modules alone, on nothing that was copied */

	/* step(), owns(), and frames() of a runtime depend on nothing but what lasts, what sw_regs_get() says of the cursor's
	 * registers and those of its thread, where the copies of a recipe are, and what is read by sw_snapshot_memory(): a walk that
	 * is told the same has the same frames. */
	bool repeats;

	/* Unwind one frame. state is NULL without attach. */
	enum sw_step (*step)(void *state, struct sw_cursor *cursor, struct sw_stepped *ret);

	/*
	 * Optional, with kind. Whether the code at cursor->lookup_avma is its own: the frame gets
	 * its kind, and names() is asked for the name, whoever found the frame. The first one in
	 * the table owns it. Asked for every frame of code in kinds: a look-up, no more.
	 * *ret_cookie, 0 before, goes with the frame to names(): only for what its pc does not tell,
	 * since frames of one pc with different cookies are named each for itself.
	 */
	bool (*owns)(void *state, const struct sw_cursor *cursor, uint64_t *ret_cookie);

	/* Optional, with owns. Name, line ... of a frame that it owns (*ret is zeroed): 1, or 0.
	 * Memory is read with sw_snapshot_memory(); asked once per distinct address. */
	int (*names)(void *state, const struct sw_frame *frame, struct sw_description *ret);

	/* Optional. The registries found in the process, after all threads were walked; fills at most
	 * max. */
	size_t (*identify)(void *state, struct sw_runtime *ret, size_t max);

	/* Optional. Append what is known of the address in words. */
	void (*explain)(void *state, const struct sw_snapshot *snap, uint64_t avma,
			struct sw_text *text);
};

#endif
