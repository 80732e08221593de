/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_STOP_H
#define SW_STOP_H

#include "stop/pace.h"

#include <snapwalk/walk.h>
#include <stdatomic.h>
#include <sys/user.h>

/*
 * Stopping threads and letting them go: the only code that calls ptrace.
 *
 * It runs in a helper process that shares our memory and nothing else that matters. Attachments
 * belong to it, so that they end with it, whatever happens: the kernel lets every tracee run on
 * when its tracer dies. That holds for threads that never stopped (no DETACH is possible for them),
 * for a ptrace call that blocks (SEIZE waits for an execve that waits for us: the helper is killed
 * from outside) and for SIGKILL to ourselves. It also keeps SCHED_FIFO, the timer slack and the
 * SIGCHLD of every stop away from the caller.
 */

enum sw_tracee_phase {
	SW_TRACEE_LISTED,
	SW_TRACEE_SEIZED,
	SW_TRACEE_INTERRUPTED,
	SW_TRACEE_STOPPED,
	SW_TRACEE_RELEASED,
	SW_TRACEE_LOST, /* reason says why; never stopped by us, or gone */
};

struct sw_tracee {
	pid_t tid;
	uint8_t phase;        /* enum sw_tracee_phase */
	bool uninterruptible; /* in state D before: it may never stop */
	bool has_regs;
	bool hide_stop; /* see arch/restart.h */
	bool visible;   /* its system call ends with EINTR because of us */
	bool fresh;     /* found only after the first listing: nothing is known of it */
	int reason;     /* SW_E_* */
	int signal;     /* caught on its way to the thread; handed on when it is let go */
	int64_t interrupt_ns, release_ns;
	int64_t held_ns; /* in earlier stops of the same capture */
	struct user_regs_struct regs;
};

struct sw_stop {
	/* Set by the caller. */
	int task_fd;      /* borrowed: /proc/PID/task */
	int mem_fd;       /* borrowed: its memory as it was before the stop */
	int pagemap_fd;   /* borrowed: likewise; -EBADF for none */
	int statm_fd;     /* borrowed: /proc/PID/task/TID/statm, -EBADF for none */
	bool new_threads; /* also stop threads that appear meanwhile */
	bool realtime;    /* SCHED_FIFO while stopped */
	bool is_32bit; /* the program is for i386: threads in code of the other kind are let go */
	enum sw_restart restart;
	int64_t max_stop_ns;
	struct sw_tracee *tracees; /* owned by the caller */
	size_t n, capacity;
	pid_t *tids;       /* capacity; space for a listing */
	uint32_t *pending; /* capacity; space for the waiting */
	/* Called when all are stopped and their registers are read, on the helper's small stack:
	 * no allocation, no opening, no stdio. */
	void (*stopped)(void *arg, struct sw_stop *stop);
	void *arg;
	/* Asked before stopped(), see struct sw_snapshot_options; NULL: it may be copied. */
	bool (*permit)(void *permit_arg, int task_fd);
	void *permit_arg;

	/* Results. */
	int64_t deadline_ns; /* valid from the first INTERRUPT on; 0 before */
	int64_t copy_end_ns; /* until when may be copied; likewise from before stopped() on */
	int64_t attach_ns, stopped_ns, copy_ns;
	int64_t time_ns; /* CLOCK_REALTIME */
	bool changed;    /* it became another program: nothing was copied */
	bool refused;    /* permit() said no: nothing was copied */
	bool realtime_refused;
	bool timed_out;
	bool stalled;  /* the copy had not come to its end when everything was let go */
	bool finished; /* the session came to its end */
	bool died;     /* the helper was killed by somebody else before that: as little as was
			    reached is there */
	struct sw_pace pace;
	size_t n_interrupted;
	char statm[32]; /* first bytes of statm in the stop, not parsed; "" unknown */
	bool overflow;  /* more threads than capacity */
	_Atomic uint32_t progress;
};

enum { SW_STOP_D_GRACE_MS = 10 }; /* a thread in state D is waited for after all others stopped */

/* 0, or an error when the helper could not be started. */
int sw_stop_run(struct sw_stop *stop, struct sw_error *err);

/*
 * Run function in a child that shares our memory and file descriptors, and wait for its end. It is
 * killed when *progress stands still for patience_ms; *ret_killed says so.
 */
int sw_helper_run(int (*function)(void *), void *arg, _Atomic uint32_t *progress, int patience_ms,
		  bool *ret_killed, struct sw_error *err);

#endif
