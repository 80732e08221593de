/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_ITERATE_CALLS_H
#define SW_ITERATE_CALLS_H

#include "iterate/called.h"
#include "iterate/sample.h"

#include <stdbool.h>

/*
 * The programs that copy threads at system calls (iterate/bpf/calls.bpf.c). They are at trace points of the kernel: no
 * code of a process is changed, and they end with their links, that is with the process that has these.
 */
enum sw_iterate_calls {
	SW_ITERATE_CALL_BEGINS,
	SW_ITERATE_CALL_RETURNS,
	SW_ITERATE_DESCRIPTORS, /* iterate/bpf/descriptors.bpf.c: each that a process gets or gives up */
	SW_ITERATE_MAPPINGS, /* iterate/bpf/mappings.bpf.c: memory that is mapped and unmapped */
	SW_ITERATE_TIMERS,   /* iterate/bpf/timers.bpf.c: timers that are created and deleted */
	SW_ITERATE_SHM,      /* iterate/bpf/shm.bpf.c: shared memory that is got and given up */
	SW_ITERATE_EPOLLS,   /* iterate/bpf/epolls.bpf.c: files that are watched by epoll */
	SW_ITERATE_LIVES,    /* iterate/bpf/lives.bpf.c: threads that are made and that end */
	/* iterate/bpf/functions.bpf.c: who has the programs puts them at places of code (events/uprobes.h) */
	SW_ITERATE_FUNCTION_BEGINS,
	SW_ITERATE_FUNCTION_RETURNS,
	SW_ITERATE_DEATHS,     /* iterate/bpf/deaths.bpf.c: how the process ends */
	SW_ITERATE_MADE,       /* iterate/bpf/made.bpf.c: threads, or processes, that it makes */
	SW_ITERATE_BLOCKED,    /* iterate/bpf/blocked.bpf.c: threads that have waited */
	SW_ITERATE_FAULTS,     /* iterate/bpf/faults.bpf.c: page faults */
	SW_ITERATE_PAIRS,      /* iterate/bpf/pairs.bpf.c: functions that hand out and take back */
	SW_ITERATE_PAIR_CALLS, /* the same: their calls are counted, and nothing else */
};

enum { SW_ITERATE_LINKS_MAX = 4 };

/* The maps, and one program for each trace point. */
struct sw_iterate_programs {
	struct sw_iterate_sample sample; /* owned, as the following; it has no program_fd */
	int called_fd;
	int program_fds[SW_ITERATE_LINKS_MAX]; /* -EBADF: none */
	int link_fds[SW_ITERATE_LINKS_MAX];
	int held_fd; /* the table of SW_ITERATE_PAIRS; -EBADF: none */
	/* The program that shows files, of SW_ITERATE_EPOLLS, and the pass over them; -EBADF: none. */
	int list_program_fd, list_link_fd;
	bool ended;                                     /* by sw_iterate_calls_end() */
	const char *trace_points[SW_ITERATE_LINKS_MAX]; /* static; NULL: not at a trace point */
};

/**
 * Load them. Needs CAP_BPF and CAP_PERFMON, as sw_iterate_calls_begin().
 *
 * @param called  Copied.
 * @param ret     Set only on success; close with sw_iterate_calls_close().
 * @return As sw_iterate_load().
 */
int sw_iterate_calls_open(enum sw_iterate_calls which, const struct sw_iterate_sample_sizes *sizes,
			  const struct sw_sampled_setup *setup,
			  const struct sw_called_setup *called, struct sw_iterate_programs *ret,
			  struct sw_error *err);
/* From now on there are events, if they have not ended. As sw_iterate_load(). */
int sw_iterate_calls_begin(struct sw_iterate_programs *programs, struct sw_error *err);
enum { SW_ITERATE_HELD_AT_ONCE = 256 };

/* A pass over what is outstanding. Zero-initialised before its first part. */
struct sw_iterate_held_pass {
	uint32_t at; /* the kernel's: where it goes on */
	int fd;      /* owned: of a pass over files; 0: none */
	bool begun, over;
	struct sw_called_outstanding held[SW_ITERATE_HELD_AT_ONCE]; /* the part read last */
};

/* A pass that ends before it is over. */
void sw_iterate_held_end(struct sw_iterate_held_pass *pass);
/**
 * Reads the next part of a pass into pass->held. The process may run meanwhile: what is outstanding from the beginning
 * of the pass to its end is read once.
 *
 * @param programs  Those of SW_ITERATE_PAIRS; or of SW_ITERATE_EPOLLS: each file is one, as sw_event_held has it.
 * @return How many; negative errno: -EBADF where nothing can be shown. The pass is over when pass->over is set, which may come with a last part.
 */
long sw_iterate_held_next(const struct sw_iterate_programs *programs,
			  struct sw_iterate_held_pass *pass);

/* No events any more. */
void sw_iterate_calls_end(struct sw_iterate_programs *programs);
void sw_iterate_calls_close(struct sw_iterate_programs *programs);

#endif
