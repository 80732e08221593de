/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_COPIER_CHANNEL_H
#define SW_COPIER_CHANNEL_H

#include <snapwalk/walk.h>
#include <stdint.h>

/*
 * The memory that the copier and the reader share. The copier may read the target and knows no format; the
 * reader has no privilege and runs the readers of runtimes. One of them works at a time:
 *
 *	copier				reader
 *	threads, the pages that
	the rehearsal read, RUN	---->	the readers begin
 *			<------------	ranges, WANT: memory that is missing
 *	pool, RUN	------------>	the readers go on
 *			<------------	DONE
 *
 * The copier believes nothing that stands here: it copies a range out before it looks at it, and what it
 * decides by is its own (struct sw_copier).
 */
enum {
	SW_COPIER_PAGE_BYTES = 4096,
	SW_COPIER_GRANULE_BYTES = SW_COPIER_PAGE_BYTES / 64,
	SW_COPIER_RANGES_MAX = 32768, /* of one turn */
	SW_COPIER_PAGES_MAX = 32768,  /* of one run, in all ranges together */
	/* A run has as many turns as pages: a rehearsal may miss these one by one. In the stop, time is the limit. */
	SW_COPIER_TURNS_MAX = SW_COPIER_PAGES_MAX,
};

enum { SW_COPIER_REFUSED = 1 << 16 };

enum sw_copier_turn { SW_COPIER_IDLE, SW_COPIER_RUN, SW_COPIER_WANT, SW_COPIER_DONE };

struct sw_copier_range {
	uint64_t avma;  /* the reader's */
	uint32_t bytes; /* the reader's */
	uint32_t at;    /* the copier's: the range's place in the pool, */
	uint32_t ok;    /* and whether it was copied, as a whole */
};

/* A thread, as the reader is told of it. */
struct sw_copier_thread {
	pid_t tid;
	bool captured;   /* the registers are known */
	int64_t syscall; /* as sw_thread.syscall */
	uint64_t fs_base, gs_base;
	struct sw_regs regs;
};

/* A page that a rehearsal has read. */
struct sw_copier_foreseen {
	uint64_t avma, read; /* as sw_copier_channel.read */
};

struct sw_copier_channel {
	_Atomic uint32_t turn; /* a futex: enum sw_copier_turn */
	_Atomic uint32_t
		over; /* no range is copied any more: the deadline or a limit was reached */
	/* The reader's tid, as of a robust mutex: the kernel adds FUTEX_OWNER_DIED when the reader ends. Who looks in
	 * the window has no descriptor of the reader. */
	_Atomic uint32_t reader;
	/* The reader's: the number of the system call for which its filter ends it, and SW_COPIER_REFUSED; 0: none. */
	_Atomic uint32_t refused;
	uint32_t n_ranges;  /* the reader's */
	uint32_t n_threads; /* the copier's, as the threads */
	int32_t cpu;        /* the copier's: the CPU that the reader is to run on; -1: any */
	uint32_t rehearses; /* the copier's: the reader lists what this run reads */
	uint32_t whole;     /* the copier's: no thread of the process seems to run meanwhile */
	struct sw_copier_range ranges[SW_COPIER_RANGES_MAX];
	/* The reader's, of the run: a bit for each SW_COPIER_GRANULE_BYTES of the pool of which something was read. */
	uint64_t read[SW_COPIER_PAGES_MAX];
	/* The reader's: what a rehearsal has read, by address. The copier takes the list at the rehearsal's end. */
	struct sw_copier_foreseen foreseen[SW_COPIER_PAGES_MAX];
	uint32_t n_foreseen;
	uint8_t pool[SW_COPIER_PAGES_MAX * SW_COPIER_PAGE_BYTES]
		__attribute__((aligned(SW_COPIER_PAGE_BYTES)));
	struct sw_copier_thread threads[];
};

#endif
