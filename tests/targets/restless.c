/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * restless THREADS NAPS: threads that rewrite 8 KiB of their stacks all the time, and sleep, are woken by
 * each other, move between CPUs, end, begin, fork and at times become the same program again. What
 * they write tells whether a copy of it is of one instant:
 *
 *	pattern[0]		its own address ^ MAGIC, 0 while there is no pattern
 *	pattern[1 ... WORDS]	all the same number, but in the loop from restless_loop to restless_end:
 *				there r12 = &pattern[1], r14 = the new number (the old one + 1), and the
 *				words below index r13 are new, from restless_stored to
 *				restless_counted that of r13, too
 *
 * NAPS: of 100 turns how many are sleeps of a millisecond. restless_turns counts each begin and each
 * end of a turn of any thread. Addresses are fixed (no PIE): nm knows them.
 */
#include "target.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

enum { WORDS = 1024, THREADS_MAX = 256, EXEC_TURNS = 100000 };
static const uint64_t MAGIC = 0x70617474726e2121;

_Atomic uint64_t restless_turns;
static _Atomic uint32_t futexes[THREADS_MAX];
static int n_threads, naps;
static char **arguments;

__asm__(".text\n"
	".globl restless_rewrite, restless_loop, restless_stored, restless_counted\n"
	".globl restless_end\n"
	".type restless_rewrite, @function\n"
	"restless_rewrite:\n" /* (words, number) */
	"	push %r12\n"
	"	push %r13\n"
	"	push %r14\n"
	"	mov %rdi, %r12\n"
	"	mov %rsi, %r14\n"
	"	xor %r13d, %r13d\n"
	"restless_loop:\n"
	"	mov %r14, (%r12,%r13,8)\n"
	"restless_stored:\n"
	"	pause\n" /* slow: so that it is often preempted in here */
	"	inc %r13\n"
	"restless_counted:\n"
	"	cmp $1024, %r13\n"
	"	jne restless_loop\n"
	"restless_end:\n"
	"	pop %r14\n"
	"	pop %r13\n"
	"	pop %r12\n"
	"	ret\n"
	".size restless_rewrite, . - restless_rewrite\n");
extern void restless_rewrite(volatile uint64_t *words, uint64_t number);

static uint32_t chance(volatile uint32_t *seed)
{
	uint32_t next = *seed;
	next ^= next << 13;
	next ^= next >> 17;
	next ^= next << 5;
	*seed = next;
	return next;
}

static NOINLINE void nap(long ns)
{
	/* Not by libc: registers that the call does not use would tell turns apart. */
	struct timespec time = {.tv_nsec = ns};
	register long r10 __asm__("r10") = 0, r8 __asm__("r8") = 0, r9 __asm__("r9") = 0;
	long result = SYS_nanosleep;
	__asm__ volatile("syscall"
			 : "+a"(result)
			 : "D"(&time), "S"(0), "d"(0), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
}

static void wait_for_others(uint32_t slot, uint32_t seen)
{
	struct timespec limit = {.tv_nsec = 2000000};
	syscall(SYS_futex, &futexes[slot], FUTEX_WAIT_PRIVATE, seen, &limit, NULL, 0);
}

static void wake_another(uint32_t slot)
{
	futexes[slot]++;
	syscall(SYS_futex, &futexes[slot], FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void move(uint32_t cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	(void) sched_setaffinity(0, sizeof(set), &set); /* a CPU that may not be used: stays */
}

static void fork_child(void)
{
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	while (pid > 0 && waitpid(pid, NULL, 0) != pid)
		continue;
}

/* The action of a thread between two patterns. Returns false if it ends. */
static NOINLINE bool act(uint32_t slot, volatile uint32_t *seed)
{
	uint32_t what = chance(seed);
	if (what % 100 < (uint32_t) naps) {
		nap(1000000);
		return true;
	}
	switch (what / 100 % 16) {
	case 0:
	case 1:
	case 2: nap(20000); break;
	case 3:
	case 4:
	case 5: wait_for_others(slot, futexes[slot]); break;
	case 6:
	case 7:
	case 8: wake_another(chance(seed) % (uint32_t) n_threads); break;
	case 9: move(chance(seed) % 2); break;
	case 10: sched_yield(); break;
	case 11:
		if (chance(seed) % 64 == 0)
			fork_child();
		break;
	case 12: return chance(seed) % 8 != 0;
	default: break; /* at once again */
	}
	return true;
}

static void begin(uint32_t slot);

static void *live(void *arg)
{
	uint32_t slot = (uint32_t) (uintptr_t) arg;
	/* In memory: the registers of a sleep are the same each time, and tell nothing of the turn. */
	volatile uint64_t pattern[1 + WORDS], number;
	volatile uint32_t seed = (uint32_t) syscall(SYS_gettid) * 2654435761u | 1;
	number = (uint64_t) seed << 24;
	pattern[0] = 0;
	for (int i = 0; i < WORDS; i++)
		pattern[1 + i] = number;
	pattern[0] = (uintptr_t) pattern ^ MAGIC;
	do {
		restless_turns++;
		number = number + 1;
		restless_rewrite(pattern + 1, number);
		if (++restless_turns > EXEC_TURNS && slot == 0)
			execv("/proc/self/exe", arguments);
	} while (act(slot, &seed));
	pattern[0] = 0;
	begin(slot);
	return NULL;
}

static void begin(uint32_t slot)
{
	pthread_attr_t attr;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, 64 * 1024);
	pthread_t thread;
	while (pthread_create(&thread, &attr, live, (void *) (uintptr_t) slot) != 0)
		nap(1000000);
	pthread_attr_destroy(&attr);
}

int main(int argc, char **argv)
{
	n_threads = argc > 1 ? atoi(argv[1]) : 64;
	naps = argc > 2 ? atoi(argv[2]) : 0;
	arguments = argv;
	if (n_threads < 1 || n_threads > THREADS_MAX)
		return 2;
	cpu_set_t all;
	memset(&all, 0xff, sizeof(all));
	(void) sched_setaffinity(0, sizeof(all), &all); /* from before execv() */
	for (int i = 0; i < n_threads; i++)
		begin((uint32_t) i);
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
