/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Hand-written assembly (lib/assembly_frames.S) between C functions: with CFI, without CFI but with
 * a frame pointer, and with neither, called by name and through a pointer.
 */
#include "target.h"

#include <pthread.h>

void asm_cfi(void (*next)(void));
void asm_frame_pointer(void (*next)(void));
void asm_bare(void (*next)(void));
void (*volatile asm_bare_pointer)(void (*next)(void)) = asm_bare;

static pthread_barrier_t said;

static NOINLINE void below(void)
{
	block();
	KEEP();
}

static NOINLINE void *with_cfi(void *arg)
{
	expect_stack("block below asm_cfi with_cfi");
	pthread_barrier_wait(&said);
	asm_cfi(below);
	KEEP();
	return arg;
}

static NOINLINE void *with_frame_pointer(void *arg)
{
	expect_stack("block below asm_frame_pointer with_frame_pointer");
	pthread_barrier_wait(&said);
	asm_frame_pointer(below);
	KEEP();
	return arg;
}

static NOINLINE void *bare(void *arg)
{
	expect_stack("block below asm_bare bare");
	pthread_barrier_wait(&said);
	asm_bare(below);
	KEEP();
	return arg;
}

static NOINLINE void *bare_by_pointer(void *arg)
{
	expect_stack("block below asm_bare bare_by_pointer");
	pthread_barrier_wait(&said);
	asm_bare_pointer(below);
	KEEP();
	return arg;
}

int main(void)
{
	void *(*const starts[])(void *) = {with_cfi, with_frame_pointer, bare, bare_by_pointer};
	pthread_barrier_init(&said, NULL, 5);
	for (unsigned i = 0; i < sizeof(starts) / sizeof(*starts); i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, starts[i], NULL) != 0)
			return 1;
	}
	pthread_barrier_wait(&said);
	expect_stack("block main");
	ready();
	block();
	return 0;
}
