/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WINE_STATE_H
#define SW_WINE_STATE_H

#include "unwind/unwinder.h"
#include "runtimes/wine/frames.h"
#include "runtimes/wine/ntdll.h"

/* The Wine of one snapshot. */

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
	/* The thread that was asked for last. */
	const struct sw_thread *thread;
	struct sw_wine_teb teb;
	bool has_teb;
};

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

/* The walker's step for a result of runtimes/wine/frames.h; none is the text for SW_WINE_NONE. */
enum sw_step sw_wine_conclude(enum sw_wine_result result, const struct sw_cursor *c,
			      uint64_t fault_avma, const char *none, struct sw_stepped *ret);

#endif
