/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_H
#define RECORD_H

/*
 * Each thread's own record of the calls that it is in, in a file that who looks on can read while the
 * process is stopped. The functions that keep it begin with r_ and enter themselves:
 *
 *	NOINLINE int r_fib(int n)
 *	{
 *		enter(r_fib);
 *		...
 *		leave();
 *	}
 *
 * At any instant the functions r_* on the stack are those of the record; more can only be
 *   - one at the inner end, or where a signal came, which has not entered itself or has left;
 *   - those that have left and go on by a tail call, which a compiler may make a plain one (r_tail*);
 *   - those that a longjmp() is about to leave (r_leap*).
 */

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__clang__)
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noipa))
#endif
#ifdef __cplusplus
#define RECORDED extern "C" NOINLINE
#else
#define RECORDED NOINLINE
#endif

enum { RECORD_THREADS = 4, RECORD_DEPTH = 126 };

/* frames.S knows the layout. */
struct record {
	volatile uint64_t tid;
	volatile uint64_t depth;
	volatile uint64_t function[RECORD_DEPTH]; /* outermost first */
};
#ifndef __cplusplus
_Static_assert(sizeof(struct record) == 1024, "tests/live/compared.py reads it");
#endif

static struct record *records;
static __thread struct record *record;

static inline __attribute__((always_inline)) void record_push(uint64_t function)
{
	record->function[record->depth] = function;
	record->depth = record->depth + 1;
}

#define enter(f) record_push((uint64_t) (uintptr_t) (f))

static inline __attribute__((always_inline)) void leave(void)
{
	record->depth = record->depth - 1;
	/* No call before it becomes a tail call. */
	__asm__ volatile("" ::: "memory");
}

/* A handler of signals may have interrupted enter() between its two steps. */
#define enter_handler(f)                                        \
	uint64_t interrupted = record->function[record->depth]; \
	enter(f)

#define leave_handler()                                        \
	do {                                                   \
		leave();                                       \
		record->function[record->depth] = interrupted; \
	} while (0)

/* The file that the program was told, which all records are in. */
static inline void records_map(const char *path)
{
	int fd = open(path, O_RDWR);
	void *map = mmap(NULL, RECORD_THREADS * sizeof(struct record), PROT_READ | PROT_WRITE,
			 MAP_SHARED, fd, 0);
	if (map == MAP_FAILED) {
		perror(path);
		exit(1);
	}
	records = (struct record *) map;
}

/* To be called by each thread first, and to be followed by enter(). */
static inline void record_begin(unsigned int index)
{
	record = &records[index];
	record->tid = (uint64_t) syscall(SYS_gettid);
}

#endif
