/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CAPTURE_DECIDE_H
#define SW_CAPTURE_DECIDE_H

#include "iterate/record.h"

#include <snapwalk/walk.h>

/* The decisions by the task iterator's records: which threads are read, which are taken again,
 * which are stopped. */

enum sw_take_how {
	SW_TAKE_READ,  /* its registers are there */
	SW_TAKE_AGAIN, /* on a CPU, or in execve(): not now */
	SW_TAKE_NOT,   /* there is nothing to take; the reason says why */
};

/* *ret_reason: SW_E_* for SW_TAKE_NOT, else 0. */
enum sw_take_how sw_take_how(const struct sw_iterate_record *record, bool is_32bit,
			     int *ret_reason);

/* The state after a window. */
struct sw_round {
	enum sw_stop_mode mode; /* AUTO or NEVER */
	bool blocked_only;      /* those on a CPU are not wanted */
	bool hooks;             /* what was copied for hooks must be of one instant */
	bool quiescent;         /* and it was */
	size_t n_whole;         /* windows with all threads so far */
	size_t n_runnable;      /* of these, with all stopped that ran or wanted to */
	bool all_stopped;       /* the last one was a full stop */
	size_t n_rest;          /* threads that are still to be taken */
	size_t n_rest_running;  /* of these, on a CPU at the last look */
	size_t n_waiting;       /* threads of the process that waited for a CPU */
	size_t n_tries;         /* windows with the rest so far */
	size_t n_stops;         /* of these, with threads stopped */
	size_t n_since_stop;    /* windows after the last of these */
	int64_t elapsed_ns, limit_ns;
};

enum sw_next {
	SW_NEXT_DONE,
	SW_NEXT_WHOLE,          /* all threads once more, and the hooks */
	SW_NEXT_WHOLE_RUNNING,  /* the same with those stopped that are on a CPU */
	SW_NEXT_WHOLE_RUNNABLE, /* the same with those stopped, too, that wait for one */
	SW_NEXT_WHOLE_STOP,     /* the same with all stopped */
	SW_NEXT_WHOLE_LAST,     /* the same with none stopped, for good: hooks are told */
	SW_NEXT_REST,           /* only those that are left */
	SW_NEXT_REST_RUNNING,   /* those of them stopped that are on a CPU */
	SW_NEXT_REST_STOP,      /* all of them stopped */
	SW_NEXT_GIVE_UP,        /* the rest is listed without stack */
};

enum {
	SW_WHOLE_MAX = 3,         /* windows with all threads before more are stopped */
	SW_RUNNABLE_MAX = 2,      /* and with those stopped that run or want to, */
	SW_WAITING_MAX = 64,      /* if not more than so many want to */
	SW_RUNNING_TRIES = 3,     /* looks at a thread that is on a CPU, with one to spare for it */
	SW_STOPS_MAX = 3,         /* stops of what is left, */
	SW_AFTER_TRIES = 10,      /* and windows after the last one */
	SW_WAITING_NS = 12000000, /* so long for a thread to be preempted by one that waits: a few
				     turns of the scheduler (base_slice_ns is 3 ms) */
	SW_MOVING_NS = 30000000,  /* so long for one that comes and goes, */
	SW_MOVING_TRIES = 4,      /* and so many windows */
};

enum sw_next sw_next_round(const struct sw_round *round);

#endif
