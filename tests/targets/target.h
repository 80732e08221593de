/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TARGET_H
#define TARGET_H

/*
 * The common part of targets: they say what their stacks must be, then wait to be looked at.
 *
 *	stack TID innermost ... outermost
 *
 * lists the program's own functions only (no libc, no start-up code); "<signal>" stands for a
 * signal trampoline and "<null>" for a frame at address 0.
 */

#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noipa))
#endif

/* A function that stays one, with its own name, whoever calls it. */
#define ALONE __attribute__((noinline, noclone, used))

/* After a call: keeps it from becoming a tail call. */
#define KEEP() __asm__ volatile("" ::: "memory")

/* Never set; the compiler cannot know, so that nothing after block() is dropped as unreachable. */
static volatile int released;

/* Waits in pause() without a libc frame: the top frame is the same with every libc. */
static NOINLINE __attribute__((unused)) void block(void)
{
	while (!released) {
		long result = SYS_pause;
#ifdef __i386__
		__asm__ volatile("int $0x80" : "+a"(result) : : "memory");
#else
		__asm__ volatile("syscall" : "+a"(result) : : "rcx", "r11", "memory");
#endif
	}
}

static __attribute__((unused)) void expect_stack(const char *functions)
{
	printf("stack %ld %s\n", syscall(SYS_gettid), functions);
	fflush(stdout);
}

static __attribute__((unused)) void ready(void)
{
	printf("ready\n");
	fflush(stdout);
}

#endif
