/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PHP_CHAIN_H
#define SW_PHP_CHAIN_H

#include "memory.h"

#include <snapwalk/walk.h>

struct sw_php;

enum {
	SW_PHP_CHAIN_MAX =
		8192, /* frames of one thread that are followed; frames.c says the number */
	SW_PHP_STRING_MAX = 1024, /* bytes of a name; longer ones are not read */
};

/* A zend_execute_data: one call of a function. */
struct sw_php_call {
	uint64_t avma, func_avma, opline_avma;
	uint32_t info;           /* SW_PHP_CALL_* */
	uint8_t type;            /* SW_PHP_*_FUNCTION; 0: no function, or not readable */
	bool unread;             /* it has a function, of which nothing was copied */
	uint64_t generator_avma; /* the generator that it stands for; 0: it is a call */
	uint64_t opcodes_avma, opcodes_end_avma; /* [opcodes, opcodes_end); 0: none */
};

/*
 * The calls of one thread, innermost first, and how many of them were handed out. They are in runs:
 * execute_ex() executes one, which ends with a call that has SW_PHP_CALL_TOP. A run may begin with
 * calls of internal functions, which C code has called itself and which need no execute_ex().
 */
struct sw_php_chain {
	pid_t tid;                 /* 0: none yet */
	struct sw_php_call *calls; /* owned */
	size_t n, capacity;
	size_t next;
	bool fp_known; /* what the next execute_ex() had in r14 is known */
	uint64_t fp_avma;
	size_t n_native; /* frames of execute_ex() so far */
	bool cut;        /* calls are missing, or what is known of one */
	bool missing;    /* calls are missing */
	bool limited;    /* those behind SW_PHP_CHAIN_MAX are; that alone does not count as cut */
	bool begins;     /* the innermost of them has not yet kept r14 */
};

/* Reads the calls of a thread; none is not an error. */
void sw_php_chain_read(struct sw_php *php, const struct sw_thread *thread);
void sw_php_chain_deinit(struct sw_php_chain *chain);

/* Index of the call, or n. */
size_t sw_php_chain_find(const struct sw_php_chain *chain, uint64_t avma);

/* Index of the last call of the run that holds i. */
size_t sw_php_chain_run_end(const struct sw_php_chain *chain, size_t i);

/* Whether the address is that of one of the function's instructions. */
bool sw_php_call_has(const struct sw_php_call *call, uint64_t opline_avma);

/* A call by itself; false when it cannot be read. *ret_prev_avma: its caller, 0 for none. */
bool sw_php_call_read(const struct sw_php *php, uint64_t avma, struct sw_php_call *ret,
		      uint64_t *ret_prev_avma);

#endif
