/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause OR GPL-2.0-only */
#ifndef SW_ITERATE_SAMPLED_H
#define SW_ITERATE_SAMPLED_H

/*
 * Input and output of iterate/bpf/sample.bpf.c. Compiled for the kernel's program and for the
 * library, so it knows only the compiler's own headers. No padding.
 *
 * A sample is one record of the ring:
 *
 *	head | part, its bytes, up to 7 zero bytes | part, its bytes, ... | ...
 */
#include "iterate/record.h"

enum {
	SW_SAMPLED_REGISTERS = 8,  /* of a recipe */
	SW_SAMPLED_STEPS_MAX = 96, /* of a recipe */
	SW_SAMPLED_TURNS_MAX =
		2048, /* steps that one sample executes, each node of a list is one */
	SW_SAMPLED_FAULTS_MAX =
		64, /* reads of a recipe that may fail: each costs as much as 20 others */
	SW_SAMPLED_MET_MAX = 64,      /* addresses that are remembered, a power of two */
	SW_SAMPLED_STACK_MAX = 65520, /* in two parts, as far as the recipe leaves space */
	SW_SAMPLED_PART_MAX = 32760,  /* below a power of two: the verifier masks it */
	SW_SAMPLED_BYTES_MAX = 65528, /* of a record */
	SW_SAMPLED_NODE_MAX = 512,    /* of a list that is copied */
	SW_SAMPLED_PROCESSES_MAX = 4096,
	SW_SAMPLED_KNOWN_MAX = 8192, /* a power of two */
	SW_SAMPLED_KNOWN_TRIES = 8,
};

/*
 * A step of a recipe. r[] are the registers of the recipe, 0 at first. A word that cannot be read is 0, and
 * the sample says so (SW_SAMPLED_FAULT).
 *
 *	END
 *	SET	r[to] = value
 *	THREAD	r[to] = thread pointer + value
 *	USER	r[to] = register number of the thread, as in sw_sampled_head
 *	MOVE	r[to] = r[from] + value
 *	MASK	r[to] = r[from] & value
 *	SUM	r[to] = r[from] + r[other] * value
 *	LOAD	r[to] = word at r[from] + value
 *	JUMP	goes on at step number
 *	ZERO	the same if r[from] is 0
 *	BELOW	the same if r[from] < r[other]
 *	MET	the same if r[from] is 0, or was one of the last SW_SAMPLED_MET_MAX that a MET had, by hash
 *	COPY	copies number bytes at r[from] + value, or those up to the end of their page where the next one is absent
 *	SPAN	copies [r[from], r[other] + value), of which at most the last number bytes
 *	FIRST	the same of which at most the first number bytes
 *	SEARCH	r[to] = the first node of a list in which the word at offset key is r[other]; 0: none.
 *		r[from] is the first node, the word at offset next of a node leads to the next one
 *	CHAIN	copies the nodes of a list, from r[from] on until one leads to 0, and with second_bytes that
 *		of what the word at offset second of each node leads to. The three lowest bits of both words
 *		do not count. A node that the last SPAN has copied is not copied again. r[to] = 1 if r[other] is
 *		one of the nodes, else 0
 *
 * Bytes that are copied have the kind of their step.
 */
enum sw_sampled_what {
	SW_SAMPLED_END,
	SW_SAMPLED_SET,
	SW_SAMPLED_THREAD,
	SW_SAMPLED_MOVE,
	SW_SAMPLED_LOAD,
	SW_SAMPLED_JUMP,
	SW_SAMPLED_ZERO,
	SW_SAMPLED_COPY,
	SW_SAMPLED_SPAN,
	SW_SAMPLED_SEARCH,
	SW_SAMPLED_CHAIN,
	SW_SAMPLED_MASK,
	SW_SAMPLED_MET,
	SW_SAMPLED_SUM,
	SW_SAMPLED_USER,
	SW_SAMPLED_BELOW,
	SW_SAMPLED_FIRST,
	SW_SAMPLED_WHATS,
};

struct sw_sampled_list {
	uint16_t next, key; /* of SEARCH: offsets of words */
	uint16_t max;       /* nodes */
	uint16_t zero;
};

struct sw_sampled_chain {
	uint16_t next, second; /* offsets of words in a node */
	uint16_t node_bytes, second_bytes;
};

struct sw_sampled_step {
	uint8_t what; /* enum sw_sampled_what */
	uint8_t to, from, other;
	uint16_t number;
	uint16_t kind; /* of what it copies */
	union {
		uint64_t value;
		struct sw_sampled_list list;
		struct sw_sampled_chain chain; /* of at most number nodes */
	};
};

/* The recipe of one process. */
struct sw_sampled_recipe {
	uint32_t n_steps;
	uint32_t generation; /* of the recipe: the sample has it */
	struct sw_sampled_step steps[SW_SAMPLED_STEPS_MAX];
};

/*
 * A known process where all are sampled. It is at one of SW_SAMPLED_KNOWN_TRIES places from sw_sampled_hash()
 * of its pid on; a process that is at none has recipe 0, which has no steps, and a copy of it wakes the reader.
 */
struct sw_sampled_known {
	uint32_t pid;    /* 0: nobody */
	uint32_t number; /* of its recipe; SW_SAMPLED_NOT: it is left out */
};
#define SW_SAMPLED_NOT UINT32_MAX

static inline uint32_t sw_sampled_hash(uint32_t pid)
{
	return pid * UINT32_C(0x9e3779b1) >> 16;
}

/* How samples are taken. */
struct sw_sampled_setup {
	uint32_t
		pid_namespace; /* inode of the reader's: it has the numbers of processes and threads */
	uint32_t stack_bytes; /* at most SW_SAMPLED_STACK_MAX */
};

enum sw_sampled_flags {
	SW_SAMPLED_IN_KERNEL = 1 << 0,
	SW_SAMPLED_STACK_CUT = 1 << 1,   /* it goes on beyond stack_bytes */
	SW_SAMPLED_STACK_HOLES = 1 << 2, /* pages of it are not there */
	SW_SAMPLED_STACK_OPEN = 1 << 3,  /* its end is not known: copied as far as pages came */
	SW_SAMPLED_FAULT = 1 << 4,       /* a step could not read */
	SW_SAMPLED_CUT =
		1 << 5, /* the recipe did not come to its end: turns, nodes, faults, bytes */
	SW_SAMPLED_RECIPE = 1 << 6, /* there is one, and it was executed */
};

enum {
	SW_SAMPLED_KIND_STACK = 0,
	SW_SAMPLED_KIND_FIRST = 1, /* of a recipe's own */
};

struct sw_sampled_part {
	uint64_t avma;
	uint32_t bytes;
	uint32_t kind;
};

struct sw_sampled_head {
	uint64_t time_ns;               /* CLOCK_MONOTONIC */
	uint64_t exec_id;               /* grows with every execve() of the process */
	uint64_t start_ns;              /* of the process; with pid it tells processes apart */
	uint64_t stack_end_avma;        /* 0: not known */
	uint64_t regs[SW_ITERATE_REGS]; /* as in struct sw_iterate_record */
	uint32_t pid, tid;              /* in the reader's pid namespace */
	uint32_t bytes;                 /* of the record */
	uint32_t n_parts;
	uint32_t flags;      /* enum sw_sampled_flags */
	uint32_t generation; /* of the recipe */
	char comm[SW_ITERATE_COMM];
};

/* Per CPU. */
enum sw_sampled_begun {
	SW_SAMPLED_RELEASES = 1 << 0, /* else it hands out */
	SW_SAMPLED_STEPPED = 1 << 1,  /* the kernel steps the instruction that is probed */
};

struct sw_sampled_counts {
	uint64_t n_taken;
	uint64_t n_no_space; /* the ring was full, or another CPU wrote to it in that instant */
	uint64_t n_nested;   /* a sample came while another one was taken */
	uint64_t n_foreign;  /* of processes that are not sampled */
	uint64_t n_kernel;   /* of threads without memory: the kernel's own, or about to end */
	uint64_t n_probed;   /* breakpoints of functions that threads came to */
	uint64_t n_left_out; /* of calls of functions: they ended, and did not return */
	/* Counts of functions that are pairs. */
	uint64_t n_not_held; /* acquired, and not followed: the table was full */
	uint64_t
		n_unsure; /* acquired or released, and not followed: others did so with the same one all the time */
	uint64_t n_unknown; /* released, and not in the table */
	uint64_t n_none;    /* calls that acquired nothing */
	/* Calls of them that have begun, by what they do: enum sw_sampled_begun. */
	uint64_t n_begun[4];
	uint64_t n_timed; /* that were taken or found no space, and how long they all took */
	uint64_t ns;
};

#endif
