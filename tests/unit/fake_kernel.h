/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FAKE_KERNEL_H
#define FAKE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

/*
 * A kernel with one process, for tests of the stop and of the copy. Programs that the list
 * FAKE_KERNEL of tests.mk has are linked so that ptrace, waitid, process_vm_readv, the clock, the
 * alarm, and calls on the directory of threads come here. Nothing of it fails a test: it may be
 * called in the stop's helper process. The calls that it saw are looked at afterwards.
 *
 *	fake_kernel = (struct fake_kernel){.n = 2, .threads = {{.tid = 11}, {.tid = 12}}};
 *	struct sw_stop stop = {.task_fd = FAKE_TASK_FD, ...};
 *
 * The clock goes on by FAKE_TICK_NS at each look, and by what a wait lasts.
 */

enum {
	FAKE_TASK_FD = 1000, /* the directory; no open file has this number */
	FAKE_TICK_NS = 1000,
	FAKE_THREADS_MAX = 1000,
	FAKE_LOG_MAX = 64,
	FAKE_RANGES_MAX = 8,
};

#define FAKE_NEVER INT64_MAX

struct fake_thread {
	pid_t tid;
	int seize_errno;        /* 0: it lets itself be seized */
	int64_t stops_after_ns; /* from INTERRUPT on */
	int signal;             /* it stops with that one on its way to it */
	bool dies;              /* instead of stopping */
	bool dies_held;         /* after it has stopped: its registers cannot be read */
	bool foreign;           /* of another process: not in the directory */
	int born;               /* it is in the directory after so many SEIZEs */
	int born_held;          /* likewise, after so many INTERRUPTs */
	size_t regs_bytes;      /* of NT_PRSTATUS; 0: as many as asked for */
	struct user_regs_struct regs;

	/* The calls that were made for it. */
	long seize_options;
	bool seized, interrupted, consumed, reaped, detached;
	int detach_signal;
	int64_t interrupt_ns, detach_ns;
	bool poked;
	unsigned long poked_offset;
	long poked_value;
};

/* Memory that can be read; size is whole. */
struct fake_range {
	uint64_t start_avma;
	const void *bytes; /* borrowed */
	size_t size;
};

struct fake_kernel {
	struct fake_thread threads[FAKE_THREADS_MAX];
	size_t n;
	int64_t now_ns;
	int64_t copy_ns;      /* what a process_vm_readv() takes */
	int64_t seize_ns;     /* what a SEIZE takes */
	int64_t interrupt_ns; /* likewise */
	int64_t registers_ns; /* likewise */
	int64_t detach_ns;    /* likewise */
	int openat_errno;     /* of a thread's directory */
	int n_glances;        /* so often the helper is found at work; before each: */
	void (*glance)(void);
	bool orphaned;   /* who started the helper ends when a thread was interrupted */
	int readv_errno; /* of each process_vm_readv() */
	struct fake_range ranges[FAKE_RANGES_MAX];
	size_t n_ranges;

	/* The calls that were seen. */
	char log[FAKE_LOG_MAX]; /* of each call a letter: s(eize) i(nterrupt) r(egisters) p(oke) d(etach) c(opy) */
	size_t n_log;
	int n_seized, n_interrupted;
	int64_t alarm_ns;  /* when it rings; 0: it does not */
	bool hangs;        /* somebody waited for ever */
	bool after_detach; /* memory was read when a thread had been let go */
	pid_t readv_pid;
};

extern struct fake_kernel fake_kernel;

#endif
