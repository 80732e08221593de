/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_V8_AWAITS_H
#define SW_V8_AWAITS_H

#include "runtimes/v8/objects/object.h"

enum {
	SW_V8_AWAITS_MAX = 128,   /* functions of one chain */
	SW_V8_PROMISES_MAX = 512, /* of one chain, also those that no function awaits */
};

/* An awaiter: an async function where it is suspended, or a call that waits for several
 * promises. */
struct sw_v8_await {
	uint64_t object; /* generator, or microtask that calls a handler; 0: combinator */
	uint64_t shared;
	uint64_t bytecode;      /* 0: unknown */
	int32_t offset;         /* in it; -1: unknown */
	const char *combinator; /* static: "Promise.all" */
	int32_t element;        /* its promise that is waited for; -1: unknown */
};

/* From an async function to those that await it, one after the other. */
struct sw_v8_await_chain {
	struct sw_v8_heap heap;
	uint64_t promise; /* which somebody may wait for; 0: the chain has ended */
	size_t n_awaits, n_promises;
	const char *cut_why;     /* static: there may be more, which was not found; NULL */
	const char *several_why; /* static: it is not one alone; NULL */
};

/*
 * The async function that a builtin's function continues. False: it is another function, or what is executed
 * is not known.
 */
bool sw_v8_await_begin(struct sw_v8_heap heap, uint64_t resumes, struct sw_v8_await *ret,
		       struct sw_v8_await_chain *ret_chain);

/* Whether that function is suspended again, or has ended: the builtin is about to return. */
bool sw_v8_await_is_over(struct sw_v8_heap heap, uint64_t resumes);

/*
 * The function that a microtask calls because a promise was settled: not the same as a builtin that continues an async
 * function. False: it is another microtask, or calls no function of the program's.
 */
bool sw_v8_await_job(struct sw_v8_heap heap, uint64_t job, uint64_t *ret_function,
		     struct sw_v8_await *ret, struct sw_v8_await_chain *ret_chain);

/* The next one that awaits; false: no more. */
bool sw_v8_await_next(struct sw_v8_await_chain *chain, struct sw_v8_await *ret);

#endif
