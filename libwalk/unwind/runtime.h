/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_RUNTIME_H
#define SW_RUNTIME_H

#include "arena.h"
#include "copies/recipe.h"
#include "unwind/unwinder.h"

/*
 * A managed runtime or an interpreter: the structures of one program that runs others, read from
 * outside. How to add one:
 *
 *   1. a folder runtimes/NAME with a const struct sw_runtime_ops, which refers to native/ and what
 *      stands before it in HACKING.md's list of folders, never to another runtime or to jit/;
 *   2. a row in the table of walk/tables.c;
 *   3. a target, a fixture, a fuzzer for each reader, unit tests over made structures.
 *
 * The calls for one process, in their order:
 *
 *	capture   probe, before, stacks, in_window
 *	events    probe, recipe; then for each copy open or renew, and as in a walk
 *	walk      probe, open; for each thread step, owns and frames, then thread, wait_within, wait, pool, request
 *	          and trace; then
 *	          goroutines, and goroutine for each, with step, owns and frames; tasks, and task for
 *	          each; task_waits, and task_wait for each; identify; resource
 *	output    names, inlined, explain, explain_frame
 *	end       close
 *
 * For a core file the capture is probe and before alone, for a fixture there is none: open() must
 * give the same state from all of them.
 *
 * All that is read was written by the target: every loop has a named limit, no address or length is
 * believed. A runtime that lies gets missing frames, never a crash, a hang or a wrong name.
 */
struct sw_frame_sink {
	/*
	 * Appends a language frame. address_avma: what tells it from others at the same native frame,
	 * an instruction of its own code if there is one. cookie: goes with it to names(). False: no
	 * more frames are taken.
	 */
	bool (*add)(struct sw_frame_sink *sink, uint64_t address_avma, uint64_t cookie);
	/* Set by frames(). The native frame has language frames that could not be proven. */
	bool may_miss;
	/* Set by frames(), too. The native frame executes language frames, as a rule, and has none.
	 * If the whole stack has none of the runtime, it is marked, too. */
	bool without;
	/* Set by frames(), static: why not all of them are there, where memory that tells could not be read. Such a stack is not
	 * complete. NULL: all that there is was read. */
	const char *cut_why;
};

/* A stack that a runtime runs on a thread, or on none. */
struct sw_runtime_goroutine {
	struct sw_goroutine info; /* info.tid: of the thread that it belongs to */
	bool runs;                /* by its state a thread runs it now */
	/*
	 * Where it goes on, as a thread without tid: registers, and the bounds of its stack. The
	 * stack counts if no thread's walk leads into [stack_avma, stack_end_avma); sp 0: not
	 * known.
	 */
	struct sw_thread stack;
	bool exact_pc;  /* it has not begun yet */
	bool live_read; /* it may have gone on meanwhile */
};

/* A stack of language frames alone, on a thread or on none. */
struct sw_runtime_task {
	struct sw_task info; /* info.tid: the thread that runs it, whose walk has its frames */
	bool live_read;      /* it may have gone on meanwhile */
	bool may_miss;       /* frames may be missing before the innermost one */
	const char *cut_why; /* static; why there may be more behind the outermost one; NULL */
	const char *
		end_why; /* static; why that is the last one, where not just nothing follows; NULL */
};

struct sw_runtime_ops {
	const char *name;         /* wire name: "clr"; frames' "by" */
	const char *kind;         /* wire name of its code, frames' "kind" */
	enum sw_trust trust;      /* of the frames it finds */
	enum sw_trust weak_trust; /* when sw_stepped.weak is set; not better than trust */
	uint32_t kinds;           /* SW_CODE_* it may be asked about */
	/* Optional: wire names by sw_stepped.source instead of name; ends with NULL. */
	const char *const *sources;

	bool repeats; /* as sw_unwinder_ops.repeats */

	/* Optional. How often one walk may leave a stack for another because of it. */
	size_t switches_max;

	/*
	 * Whether the runtime may be in the process, by maps and modules. False: it is not asked for
	 * anything else, so a process without it costs nothing more. Opens files of modules at most;
	 * target running.
	 */
	bool (*probe)(const struct sw_snapshot *snap);

	/* Optional. As sw_unwinder_ops.prepare; also for core files, where only sw_capture_open() and
	 * capture->memory do something. */
	int (*before)(struct sw_capture *capture);

	/*
	 * Optional, for a runtime that may come at any time without new code. Whether a mapping of that name is what
	 * probe() looks for: samplers look for one now and then, and read the maps anew when it has come.
	 */
	bool (*announces)(const char *path);

	/*
	 * Optional. In the window, registers known, stacks not copied yet: where a thread has more
	 * than one stack, add the others with sw_capture_stack(). Actions that in_window() may not
	 * take are forbidden here, too.
	 */
	int (*stacks)(struct sw_capture *capture);

	/* Optional. As sw_unwinder_ops.capture. May be called again when the window was repeated:
	 * what the call before kept is then void. */
	int (*in_window)(struct sw_capture *capture);

	/*
	 * Optional, instead of in_window, with before, which leaves in *capture->found what this needs (NULL: it is not
	 * called). Reads, through memory, what the functions below will read of what changes, for the threads that are
	 * captured: by calling the readers that they call. All that is read becomes the snapshot's. It is called in a
	 * process of its own (copier/reader.h), which has no privilege, no files and a copy of what was there after before():
	 * so it may allocate and parse, and nothing that it changes is seen elsewhere. It is called once while the
	 * process runs, for no thread has registers then, and in each window.
	 */
	void (*touch)(const struct sw_snapshot *snap, void *found, struct sw_memory memory);

	/*
	 * Optional, with renew and frames. What the kernel copies of a thread at an event, so that frames() finds its
	 * language frames in the copy (copies/recipe.h): steps are added. Target running, as for before();
	 * nothing is kept. False with *ret_why in words that "... cannot be copied" may follow: it cannot be had.
	 */
	bool (*recipe)(const struct sw_snapshot *snap, struct sw_memory memory,
		       struct sw_recipe *recipe, const char **ret_why);

	/* With recipe. Code that such a process makes publishes nothing: its own steps lead out of it, or none. */
	bool unpublished;

	/* With recipe, or for a state that may be out of date. The snapshot has another copy now: what was read of the one
	 * before, but for what is constant, does not count any more. Cookies go on meaning what they meant. False: the state has
	 * become too large or can be had whole now, and is to be made anew, with all others. */
	bool (*renew)(void *state);

	/* As sw_unwinder_ops.attach. *ret_state stays NULL when the runtime is not there after all: it
	 * is not asked again. */
	int (*open)(const struct sw_snapshot *snap, void *found, void **ret_state);
	void (*close)(void *state);

	/* Optional. As in sw_unwinder_ops; state is never NULL in those that follow. Asked before the
	 * unwinders. */
	enum sw_step (*step)(void *state, struct sw_cursor *cursor, struct sw_stepped *ret);
	bool (*owns)(void *state, const struct sw_cursor *cursor, uint64_t *ret_cookie);

	/*
	 * Optional. Whether a return address whose mapping cannot be executed leads to generated code all the
	 * same: the runtime writes to the page at that instant. avma is one less.
	 */
	bool (*writes_code)(void *state, uint64_t avma);

	/* Optional, with owns: the kind of a frame, by its cookie, where it is not that of the row; static.
	 * NULL: it is. */
	const char *(*code)(void *state, uint64_t cookie);

	/*
	 * Optional. The language frames that sit on the native frame in callee, innermost first: those
	 * of an interpreter's loop. The native frame's own memory is [callee->regs.sp_avma,
	 * caller_sp_avma); caller_sp_avma is 0 when the caller was not found. Called once for each
	 * frame that somebody else found or owns, too. True: the native frame belongs to the
	 * interpreter itself (SW_FRAME_INTERNAL).
	 */
	bool (*frames)(void *state, const struct sw_cursor *callee, uint64_t caller_sp_avma,
		       struct sw_frame_sink *sink);

	/*
	 * Optional, with owns, for a virtual machine whose functions have frames of their own. Whether a
	 * frame, native or one that it owns, is code of the machine itself (SW_FRAME_INTERNAL). Asked for
	 * all frames of a stack that has one which it owns and which is not: that says what the program
	 * does. Not for routines that do the program's work, nor for libraries.
	 */
	bool (*internal)(void *state, const struct sw_frame *frame);

	/* Optional, with owns or frames. As in sw_unwinder_ops. */
	int (*names)(void *state, const struct sw_frame *frame, struct sw_description *ret);

	/*
	 * Optional, with names. For code into which others were compiled: what the frame executes,
	 * level 0 the innermost, the last level the function itself, of which names() speaks. 1; 0
	 * when there is no such level, which ends the list. *ret is zeroed.
	 */
	int (*inlined)(void *state, const struct sw_frame *frame, size_t level,
		       struct sw_description *ret);

	/* Optional. Tells what it knows of a thread (*ret is zeroed). */
	bool (*thread)(void *state, const struct sw_thread *thread, struct sw_thread_info *ret);

	/*
	 * Optional, both or none. How many goroutines there are; *ret_why says why these are not all.
	 * Asked once, after the threads were walked. Then each in turn; the steps that follow are in its
	 * stack, cursor->thread is &ret->stack. False: it is gone. *ret is zeroed.
	 */
	size_t (*goroutines)(void *state, const char **ret_why);
	bool (*goroutine)(void *state, size_t n, struct sw_runtime_goroutine *ret);

	/*
	 * Optional, task with any of the others; with names. As goroutines(). Then each in turn: adds its frames to sink,
	 * unless a thread runs it. No frames and no thread: they could not be read. False: it is gone.
	 * awaited instead of tasks, or with it: those alone that threads run and somebody awaits, or on which threads wait.
	 */
	size_t (*tasks)(void *state, const char **ret_why);
	size_t (*awaited)(void *state, const char **ret_why);
	bool (*task)(void *state, size_t n, struct sw_runtime_task *ret,
		     struct sw_frame_sink *sink);

	/*
	 * Optional, both or none. How many tasks wait for something that tasks share, or for another task, by
	 * what was of one instant; asked once, after tasks(). Then each in turn: its strings are borrowed until
	 * the next one.
	 */
	size_t (*task_waits)(void *state);
	void (*task_wait)(void *state, size_t n, struct sw_task_wait *ret);

	/*
	 * Optional. What of the runtime's own a thread waits for that sleeps in the kernel, and who has
	 * it (*ret is zeroed). Only by what was of one instant with the thread's registers: an owner
	 * that cannot be proven is none.
	 */
	bool (*wait)(void *state, const struct sw_thread *thread, struct sw_runtime_wait *ret);
	/* Optional. The same where functions on the stack tell more: asked before wait(). */
	bool (*wait_within)(void *state, const struct sw_walk *walk, struct sw_runtime_wait *ret);

	/* Optional. The pool that a thread is a worker of, whether it has work or not (*ret is zeroed). */
	bool (*pool)(void *state, const struct sw_thread *thread, struct sw_worker_pool *ret);

	/*
	 * Optional. The request that a thread serves (*ret is zeroed); false: none. It is private: copied
	 * only with sw_snapshot_options.args, and asked for only with sw_walk_options.args.
	 */
	bool (*request)(void *state, const struct sw_thread *thread, struct sw_served *ret);

	/* Optional. The request that a thread works on, by what was copied with its registers (sw_thread.context); false: none, or
	 * it was being changed. *ret is zeroed; what it points to is the arena's, or the state's. */
	bool (*trace)(void *state, const struct sw_thread *thread, struct sw_arena *arena,
		      struct sw_trace *ret);

	/* Optional. What the process publishes of itself; the state's. */
	const struct sw_resource *(*resource)(void *state);

	/* Optional. As in sw_unwinder_ops: the runtime with its version, and why it is not read, or
	 * not in whole. */
	size_t (*identify)(void *state, struct sw_runtime *ret, size_t max);

	/* Optional. As in sw_unwinder_ops; asked about code of further kinds (SW_CODE_*), too. */
	uint32_t explains;
	void (*explain)(void *state, const struct sw_snapshot *snap, uint64_t avma,
			struct sw_text *text);

	/* Optional. Lines about a frame that it owns, whose pc is the address that is asked about. */
	void (*explain_frame)(void *state, const struct sw_frame *frame, struct sw_text *text);
};

#endif
