/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_EVENTS_H
#define SW_EVENTS_H

#include "copies/copies.h"
#include "process/target.h"

#include <snapwalk/walk.h>
#include <sys/user.h>

/*
 * Samples of the CPU time of all threads of a process, by perf_event_open(2): registers and a part of the
 * stack, as they were in user mode, taken by the kernel where the thread runs. Nothing is stopped.
 *
 * There is an event for each thread on each CPU, which new threads inherit: only those of one CPU can write
 * into one ring. (Events that follow a thread over all CPUs would need a ring each, and inherited ones have
 * none: kernel/events/core.c v6.1, perf_mmap() and perf_event_set_output().)
 */
struct sw_events;

enum sw_events_kind {
	SW_EVENTS_NONE, /* for now there is nothing more */
	SW_EVENTS_SAMPLE,
	SW_EVENTS_CODE,    /* code was mapped: what is known of the maps is old */
	SW_EVENTS_PROGRAM, /* it became another program */
	SW_EVENTS_END,     /* only of all processes: the first thread of one has ended */
	SW_EVENTS_NAME,  /* a thread has a name, or has begun with that of the one which made it */
	SW_EVENTS_CHILD, /* it has made another process */
};

struct sw_events_sample {
	pid_t tid;
	pid_t pid; /* of SW_EVENTS_CODE, _PROGRAM and _END: the process; 0: not known */
	struct user_regs_struct regs; /* in no system call; bases of segments are 0 */
	const uint8_t *stack; /* from the stack pointer on; the events', until the next call */
	size_t stack_bytes;
	/* The name of SW_EVENTS_NAME, with tid, or whose name the thread has. */
	char comm[SW_COMM_MAX];
	pid_t named_as; /* 0: comm */
	bool of_probes; /* of SW_EVENTS_CODE: the page in which the kernel executes instructions that are probed */
};

struct sw_events_options {
	uint32_t
		rate_hz; /* samples per second of CPU time of each thread; 0: none, only what else there is */
	size_t stack_bytes; /* of each; at most SW_EVENTS_STACK_MAX, and fewer where memory is short */
	/* Borrowed until they are closed: at each event the thread is copied, and there are no
	 * SW_EVENTS_SAMPLE. NULL: the events have registers and stacks themselves. */
	const struct sw_copies *copies;
	bool clock_only; /* not by cycles: each stands for exactly 1 / rate_hz s */
};

/**
 * @return 0; -SW_E_NOT_PERMITTED and -SW_E_UNSUPPORTED with the reason; -SW_E_LIMIT: too many threads and
 *         CPUs; -SW_E_EXITED, -SW_E_NOMEM, -SW_E_IO.
 */
int sw_events_open(const struct sw_target *target, const struct sw_events_options *options,
		   struct sw_events **ret, struct sw_error *err);
void sw_events_close(struct sw_events *events);

enum { SW_EVENTS_STACK_MAX = 32 << 10 };

/*
 * The same for all processes: an event for each CPU, of the clock, where it is not idle. options->copies is there. That of
 * SW_EVENTS_NAME and _CHILD are left out.
 *
 * @return As sw_events_open().
 */
int sw_events_open_all(const struct sw_events_options *options, struct sw_events **ret,
		       struct sw_error *err);

/* Takes the next event. *ret is set only for kinds that say so. */
enum sw_events_kind sw_events_next(struct sw_events *events, struct sw_events_sample *ret);

/* Samples that the kernel could not write so far: the rings were full. */
uint64_t sw_events_lost(const struct sw_events *events);
/* Whether time in the kernel counts. */
bool sw_events_with_kernel(const struct sw_events *events);

#endif
