/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_COPIES_COPIES_H
#define SW_COPIES_COPIES_H

#include "copies/record.h"
#include "iterate/calls.h"

#include <snapwalk/error.h>
#include <sys/types.h>

/*
 * Copies of threads that the kernel makes at events: registers, stack, and what an interpreter has of its
 * frames elsewhere, by a recipe (copies/recipe.h). Nothing is stopped.
 *
 *	sw_copies_open		loads the program: needs CAP_BPF and CAP_PERFMON
 *	sw_copies_sample	a process, and its recipe
 *	sw_copies_attach	an event of perf_event_open(2): at each of it the thread is copied; not where system
 *				calls are the events
 *	sw_copies_next		again and again, every 20 ms or so; nobody is woken, but
 *				with all by a process that is not known: sw_copies_fd
 *
 * Only the first three need privileges, and parse nothing; the rest makes no system call, nor does another recipe for a
 * process that has one. With all no recipe makes a system call.
 */
struct sw_copies;

struct sw_copies_options {
	size_t stack_bytes; /* of each copy; 0: 16 KiB; at most SW_SAMPLED_STACK_MAX */
	size_t n_processes; /* 0: one */
	size_t ring_bytes;  /* at least, but at most 32 MiB; 0: by the number of CPUs */
	/* At system calls, from the first sw_copies_sample() on, in place of events of perf_event_open(2). NULL: those. */
	const struct sw_called_setup *called;
	enum sw_iterate_calls calls; /* with called */
	uint32_t n_held;             /* likewise: as of sw_iterate_sample_sizes */
	bool linked;                 /* likewise */
	/* Each process is copied, those without a recipe, too, but for sw_copies_leave_out(). */
	bool all;
};

/* Copies that are not there, by cause; and those that were made. */
struct sw_copies_counts {
	uint64_t n_taken;
	uint64_t n_no_space, n_nested; /* lost */
	uint64_t n_probed;             /* breakpoints that threads came to */
	uint64_t n_left_out;           /* calls of functions that did not return */
	uint64_t n_not_held, n_unsure, n_unknown, n_none; /* of pairs, see iterate/sampled.h */
	uint64_t n_begun[4];                              /* likewise */
	uint64_t n_timed, ns; /* how many were made, and how long that took the threads */
};

/**
 * @return 0; -SW_E_NOT_PERMITTED and -SW_E_UNSUPPORTED with the reason; -SW_E_NOMEM.
 */
int sw_copies_open(const struct sw_copies_options *options, struct sw_copies **ret,
		   struct sw_error *err);
/* NULL is allowed. */
void sw_copies_close(struct sw_copies *copies);

/* recipe: NULL: registers and stack are enough. 0; -SW_E_LIMIT; -SW_E_INVALID: the recipe; -SW_E_NOT_PERMITTED;
 * -SW_E_NOMEM; -SW_E_IO. */
int sw_copies_sample(struct sw_copies *copies, pid_t pid, const struct sw_sampled_recipe *recipe,
		     struct sw_error *err);
void sw_copies_forget(struct sw_copies *copies, pid_t pid);

/* With all: a process needs no recipe, until sw_copies_forget(): no copy of it wakes the reader any more. */
void sw_copies_know(struct sw_copies *copies, pid_t pid);

/* With all: a process is not copied, until sw_copies_forget(). False: there is no space to note that. */
bool sw_copies_leave_out(struct sw_copies *copies, pid_t pid);

/* Which recipe a process has now: copies that were made by it have that generation. 0: none. */
uint32_t sw_copies_generation(const struct sw_copies *copies, pid_t pid);

/* event_fd: borrowed. 0, or a negative errno. Events that inherit from it have the program, too. */
int sw_copies_attach(const struct sw_copies *copies, int event_fd);

/* A program of calls that is not at a trace point, by its number; borrowed; negative: there is none. */
int sw_copies_program(const struct sw_copies *copies, size_t number);
/* The next part of a pass over what is outstanding: as sw_iterate_held_next(); -EBADF: there is no such table. */
long sw_copies_held(const struct sw_copies *copies, struct sw_iterate_held_pass *pass);

/* From now on no call of a function is an event any more, at once, as taking probes out takes the kernel up to seconds. */
void sw_copies_stop(struct sw_copies *copies);

/* From now on no system call is an event any more; what was copied can still be read. */
void sw_copies_end(struct sw_copies *copies);

/* The next copy; false: there is none by now. *ret holds until the next call. */
bool sw_copies_next(struct sw_copies *copies, struct sw_copy *ret);

/* The head of a copy that waits, from *at on, which is behind it then; 0 at first. Nothing is taken. */
bool sw_copies_peek(const struct sw_copies *copies, uint64_t *at, struct sw_sampled_head *ret);

/* Whether a copy waits for sw_copies_next(); makes no system call. */
bool sw_copies_has_more(const struct sw_copies *copies);

/* Readable when there is a copy of a process that is not known, for poll(2); borrowed. With other copies it may be, too. */
int sw_copies_fd(const struct sw_copies *copies);

/* The counts so far. */
struct sw_copies_counts sw_copies_counts(const struct sw_copies *copies);

#endif
