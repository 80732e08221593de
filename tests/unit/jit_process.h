/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef JIT_PROCESS_H
#define JIT_PROCESS_H

#include <stddef.h>
#include <stdint.h>

/* A process with generated code, for fuzzers: one variable of its program leads to a registry in its
 * heap, whose bytes are the input. */
enum {
	JIT_PROCESS_PROGRAM = 0x10000000,
	JIT_PROCESS_HEAP = 0x20000000,
	JIT_PROCESS_STACK = 0x30000000,
	JIT_PROCESS_STACK_WORDS = 64,
	JIT_PROCESS_THREADS = 8,
};

struct jit_process {
	const char *symbol; /* the variable */
	size_t symbol_bytes;
	uint64_t words[3];   /* what it holds */
	const uint8_t *data; /* the heap */
	size_t size;
	uint64_t starts[JIT_PROCESS_THREADS]; /* where threads are */
	uint64_t stack[JIT_PROCESS_STACK_WORDS];
};

/* Walks all threads, asks for the name of every frame, and for what is known of each start. */
void jit_process_walk(const struct jit_process *process);

#endif
