/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WINE_STATE_H
#define SW_WINE_STATE_H

#include "unwind/unwinder.h"
#include "runtimes/wine/frames.h"
#include "runtimes/wine/ntdll.h"

/* What is known of Wine in one snapshot, and the steps that cross from one of a thread's stacks to
 * another. runtimes/wine/runtime.c asks for each where it applies. */

/* The ways from Windows code to Unix code. */
enum sw_wine_call { SW_WINE_SYSCALL, SW_WINE_UNIX_CALL, SW_WINE_CALLS };

/* Code of ntdll.so, [start, end). */
struct sw_wine_dispatcher {
	struct sw_place *place; /* NULL: not known */
	uint64_t start_avma, end_avma;
};

/* A function of ntdll.dll, whose table tells where it ends. */
struct sw_wine_function {
	uint64_t start_avma, end_avma;
};

struct sw_wine {
	const struct sw_snapshot *snap;
	struct sw_wine_ntdll ntdll;
	struct sw_wine_dispatcher dispatchers[SW_WINE_CALLS];
	struct sw_wine_function callback, exception, apc, loader;
	/* Of the thread that was asked for last. */
	const struct sw_thread *thread;
	struct sw_wine_teb teb;
	bool has_teb;
};

/* ---- runtimes/wine/state.c ---------------------------------------------------------------------------- */

/* Looks for everything but w->ntdll, which is there. w->ntdll.problem says what is missing. */
void sw_wine_state_find(struct sw_wine *w, const struct sw_snapshot *snap);

/* A thread's TEB; NULL: it has none, or none that is fit for use. Valid until the next call. */
const struct sw_wine_teb *sw_wine_teb_of(struct sw_wine *w, struct sw_memory memory,
					 const struct sw_thread *thread);

static inline bool sw_wine_inside(const struct sw_wine_function *f, uint64_t avma)
{
	return avma >= f->start_avma && avma < f->end_avma;
}

/* Whether avma is in a dispatcher, and in which. */
bool sw_wine_dispatcher_at(const struct sw_wine *w, uint64_t avma, enum sw_wine_call *ret);

/* What a result of runtimes/wine/frames.h means to the walker; none says what SW_WINE_NONE means. */
enum sw_step sw_wine_conclude(enum sw_wine_result result, const struct sw_cursor *c,
			      uint64_t fault_avma, const char *none, struct sw_stepped *ret);

/* ---- runtimes/wine/unix.c: from Unix code -------------------------------------------------------------- */

enum sw_step sw_wine_dispatcher_step(struct sw_wine *w, enum sw_wine_call kind, struct sw_cursor *c,
				     struct sw_stepped *ret);
bool sw_wine_is_unknown_dispatcher(const struct sw_wine *w, const struct sw_cursor *c);

/* Functions that make a syscall_frame, or leave one. NULL: it is none. */
const struct sw_cfi_rule *sw_wine_wrong_rule(const struct sw_wine *w, const struct sw_cursor *c);
enum sw_step sw_wine_caller_step(struct sw_wine *w, const struct sw_cfi_rule *rule,
				 struct sw_cursor *c, struct sw_stepped *ret);

/* The function in which a thread gets its first syscall_frame. */
bool sw_wine_is_unix_start(struct sw_wine *w, struct sw_cursor *c);
enum sw_step sw_wine_unix_start_step(struct sw_wine *w, struct sw_cursor *c,
				     struct sw_stepped *ret);

/* ---- runtimes/wine/windows.c: from functions of ntdll.dll that Unix code enters ------------------------- */

enum sw_step sw_wine_callback_step(struct sw_wine *w, struct sw_cursor *c, struct sw_stepped *ret);
enum sw_step sw_wine_context_step(struct sw_cursor *c, struct sw_stepped *ret);
bool sw_wine_is_thread_start(struct sw_wine *w, struct sw_cursor *c);

#endif
