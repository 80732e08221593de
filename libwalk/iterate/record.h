/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause OR GPL-2.0-only */
#ifndef SW_ITERATE_RECORD_H
#define SW_ITERATE_RECORD_H

/*
 * Records that the programs in the kernel write and the library reads. Compiled for both, so it knows only the
 * compiler's own headers. No padding: the verifier of Linux 6.1 refuses bytes that were never written.
 */
#include <stdint.h>

enum {
	SW_ITERATE_REGS = 27, /* words of struct user_regs_struct */
	SW_ITERATE_COMM = 16, /* TASK_COMM_LEN; not always terminated: it is read without a lock */
};

/* A thread. Times are in nanoseconds. */
struct sw_iterate_record {
	uint64_t regs[SW_ITERATE_REGS]; /* in the order of struct user_regs_struct; all bits of the
					   segment registers but the lower 16 are 0 */
	/* The counters of the proof, see tasks.h. */
	uint64_t n_voluntary, n_involuntary; /* nvcsw, nivcsw: grow when it is switched out */
	uint64_t runtime_ns;                 /* se.sum_exec_runtime: CPU time, user and system */
	/* On the scheduler's clock, which is none of the clocks of clock_gettime(2). */
	uint64_t clock_ns;   /* now; early by no more than how long the reader has its CPU */
	uint64_t arrived_ns; /* when it last got a CPU; 0: never, or the kernel does not keep it */
	uint64_t queued_ns;  /* since when it waits for a CPU; 0: it does not */
	uint64_t run_delay_ns; /* for how long it waited for a CPU, up to when it last got one */
	uint64_t stint_ns;     /* CPU time since arrived_ns; fair scheduling classes only */
	uint64_t start_ns;     /* start_boottime; with tid it tells threads apart for ever */
	uint64_t exec_id;      /* grows with every execve() of the process */
	uint64_t wait_key; /* tells places of the kernel apart in which threads wait; 0: unknown, or
				not asked for with sw_iterate_want_wait_keys() */
	uint32_t tid;      /* in the pid namespace of the reader */
	uint32_t inner_tid; /* in its own pid namespace */
	uint32_t tracer;    /* who traces it, in the pid namespace of the reader; 0: nobody there */
	uint32_t is_last;   /* in this instant no thread of its process is younger */
	uint32_t on_cpu;
	uint32_t state;       /* task_struct.__state */
	uint32_t exit_state;  /* task_struct.exit_state */
	uint32_t flags;       /* PF_*; as in field 9 of /proc/PID/stat */
	uint32_t traced;      /* task_struct.ptrace, 0: not traced */
	uint16_t in_exec;     /* in execve(): its memory may be another program's already */
	uint16_t rt_priority; /* of SCHED_FIFO and SCHED_RR, 1 to 99; else 0 */
	char comm[SW_ITERATE_COMM];
};

enum {
	SW_ITERATE_RETURNS_MAX = 64, /* of one thread: MAX_URETPROBE_DEPTH, <linux/uprobes.h> */
	SW_ITERATE_RETURN = 0,
	SW_ITERATE_STEP = 1,
};

/* A change of a thread that tools probe. A SW_ITERATE_RETURN: an address to return to that the kernel replaced;
 * the innermost ones first. A SW_ITERATE_STEP: an instruction that is executed elsewhere. */
struct sw_iterate_return {
	uint32_t tid;
	uint32_t what;
	uint64_t at_avma; /* where the address stood; where the instruction is executed */
	uint64_t
		is_avma; /* the address, the kernel's own when one place has two; the instruction's own */
};

enum { SW_ITERATE_MOVED_MAX = 4096 };

/* The result of a pass over a process: threads that may have run since the pass before. */
struct sw_iterate_moved {
	uint32_t n_threads; /* that there are */
	uint32_t
		n_counted; /* as its own count has it, a moment later: another number, if some came or
				ended, or the list could not be followed to its end */
	uint32_t n;        /* of tids[] */
	uint32_t more;     /* there is no space for some: the next pass tells of them */
	uint32_t tids[SW_ITERATE_MOVED_MAX]; /* in the pid namespace of the reader */
};

enum { SW_ITERATE_READS = 1, SW_ITERATE_WRITES = 2 }; /* FMODE_*, include/linux/fs.h */

/* A descriptor of a pipe or socket. */
struct sw_iterate_file {
	uint64_t inode; /* what stands in the link of /proc/PID/fd */
	uint32_t pid;   /* the process, in the pid namespace of the reader; 0: it is not there */
	uint32_t fd;
	uint32_t mode;    /* SW_ITERATE_*: for what it is open; 0: for neither (O_PATH) */
	uint32_t is_pipe; /* else a socket */
};

/* A thread of a process whose memory is locked, for reading or for writing, by one of its threads or by somebody else. */
struct sw_iterate_lock {
	uint64_t memory; /* tells address spaces apart */
	uint64_t
		owner; /* who was the last to take the lock, as the kernel notes it; 0: not known */
	uint64_t
		n_switches; /* of a thread that waits where no signal wakes it: how often it left a CPU; 0: another one */
	uint32_t pid, tid;          /* in the pid namespace of the reader; 0: not there */
	char comm[SW_ITERATE_COMM]; /* of the process */
};

#endif
