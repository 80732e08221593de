/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CAPTURE_WINDOW_H
#define SW_CAPTURE_WINDOW_H

#include "capture/space.h"
#include "iterate/read.h"

/*
 * A window: a pass of the task iterator, the copy of the stacks of the threads whose registers it
 * gave (and of those that are stopped), the copies of hooks, a second pass. Each thread that did
 * not run in between is taken.
 */

struct sw_window_thread {
	uint64_t start_ns;      /* of its last record; 0: it had none */
	uint64_t n_switches;    /* when it was taken; not of those that were stopped */
	char state;             /* likewise */
	int64_t since_ns;       /* likewise: sw_iterate_waits_ns() */
	uint32_t before, after; /* index + 1 of its record in the pass; 0: none */
	bool taken;             /* in this window or an earlier one */
	uint32_t instant;       /* the window in which it was taken: sw_thread.instant */
	bool by_ptrace;
	bool asked;    /* a stop was tried in the last window: it is we who traced it */
	int refused;   /* SW_E_*: it could not be stopped, so it is only read */
	bool running;  /* on a CPU at the last look */
	bool runnable; /* or waited for one */
	bool waited;   /* it was on none at the first look of all, before anything was read */
	uint64_t first_switches; /* then */
};

struct sw_window {
	struct sw_capture_space *space;       /* borrowed */
	struct sw_stop *stop;                 /* borrowed */
	struct sw_window_thread *threads;     /* the snapshot's arena's: stop->capacity */
	struct sw_iterate_record *records[2]; /* likewise, of the two passes */
	struct sw_iterate_pass passes[2];

	bool began;       /* the first look was taken */
	uint32_t instant; /* of this window */

	/* Set before each window. */
	int pass_fds[2];  /* owned: iterators */
	bool whole;       /* all threads and the hooks; else who is not taken yet */
	bool with_passes; /* false: all that are wanted are stopped */
	bool doubtful;    /* hooks are told that the process may run */

	/* Results. */
	bool chosen;      /* it is known who is in the window */
	bool judged;      /* the window came to its end */
	bool failed;      /* a pass could not be read, or the process is another one */
	size_t carrier;   /* the thread through which memory is read; SIZE_MAX: none */
	bool seems_whole; /* after the first pass: nobody runs */
	bool quiescent;
	bool hooks_matter; /* what hooks copied, or could not, must be of one instant */
	bool tables_same;  /* and was, as it is now what it was: sw_capture_same() */
	size_t n_rest, n_rest_running, n_waiting;
	bool all_listed; /* the second pass has shown no thread that is not listed */
};

/* Describe a thread by its record. */
void sw_window_describe(struct sw_thread *t, const struct sw_iterate_record *record);

/* The window, in the helper: sw_stop.stopped, arg is the window. */
void sw_window_fill(void *arg, struct sw_stop *stop);

/* Whether a thread that was captured was stopped for it. */
static inline bool sw_window_by_ptrace(const struct sw_window *window, size_t thread)
{
	return window->threads[thread].by_ptrace;
}

/* After the helper: hands on what the window gave, also when it was killed in between. */
void sw_window_settle(struct sw_window *window);

/* The activity of a thread since it was taken, as the last look says. For threads that were not
 * taken: SW_SINCE_STAYED. */
enum sw_since {
	SW_SINCE_STAYED,
	SW_SINCE_WOKEN, /* or was preempted: it is where it was, and about to go on */
	SW_SINCE_RAN,   /* or was not seen */
};

/* Look once more, when the windows are over: a pass of fd, an iterator that was not read from yet.
 * It finds no new threads. If it cannot be read, no thread was seen. */
void sw_window_look_again(struct sw_window *window, int fd);

/* The record of a thread in the last pass; NULL: it has none. */
const struct sw_iterate_record *sw_window_last(const struct sw_window *window, size_t thread);

enum sw_since sw_window_since(const struct sw_window *window, size_t thread);

/* Whether a thread that was taken did not run from the first look of all windows to the last one. */
bool sw_window_stayed(const struct sw_window *window, size_t thread);

/* How often a thread had left a CPU when it was taken, + 1; 0: unknown, as of those that were stopped. */
uint64_t sw_window_switches(const struct sw_window *window, size_t thread);

#endif
