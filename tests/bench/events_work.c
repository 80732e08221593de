/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Does a number of events and says what they have cost itself: for each line "KIND N STACKS" it makes N events of a kind
 * (call, function, descriptors, malloc, mixed) from STACKS different stacks of at least 4 KiB, and prints the nanoseconds
 * of CPU time.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { DEPTH = 11, FRAME_BYTES = 400, NS_PER_S = 1000000000 };

#define ALONE  __attribute__((noipa))
#define KEEP() __asm__ volatile("" ::: "memory")

/* The function begins with an instruction that the kernel executes by itself. */
long event_function(long n);
__asm__(".text\n.globl event_function\n.type event_function, @function\n"
	"event_function: .cfi_startproc\n"
	"push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\n"
	"lea 1(%rdi), %rax\n"
	"pop %rbp\n.cfi_def_cfa_offset 8\n"
	"ret\n.cfi_endproc\n.size event_function, . - event_function\n");

static ALONE void call(void)
{
	(void) syscall(SYS_getppid);
}

static ALONE void function(void)
{
	(void) event_function(1);
	KEEP();
}

/* 13 descriptors are acquired. */
static ALONE void descriptors(void)
{
	int fds[13], pair[2];
	int n = 0;
	fds[n++] = open("/dev/null", O_RDONLY);
	for (; n < 7; n++)
		fds[n] = dup(fds[0]);
	for (int i = 0; i < 2; i++) {
		if (pipe(pair) < 0)
			return;
		fds[n++] = pair[0];
		fds[n++] = pair[1];
	}
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		return;
	fds[n++] = pair[0];
	fds[n++] = pair[1];
	while (n > 0)
		(void) close(fds[--n]); /* it is ours */
}

static ALONE void malloc_free(void)
{
	enum { BYTES = 64 };
	void *block = malloc(BYTES);
	__asm__ volatile("" : : "r"(block) : "memory");
	free(block);
}

/* A pair beside some 10 µs of other work: what it adds to the CPU time is a share, not a multiple. */
static ALONE void mixed(void)
{
	enum { STEPS = 20000 };
	malloc_free();
	for (int i = 0; i < STEPS; i++)
		KEEP();
}

static void (*event)(void);
static long many;

static void down(unsigned path, int depth);

#define SIDE(name)                                              \
	static ALONE void name(unsigned path, int depth)        \
	{                                                       \
		char space[FRAME_BYTES];                        \
		__asm__ volatile("" : : "r"(space) : "memory"); \
		down(path >> 1, depth - 1);                     \
		KEEP();                                         \
	}
SIDE(left)
SIDE(right)

static ALONE void down(unsigned path, int depth)
{
	if (depth == 0)
		for (long i = 0; i < many; i++)
			event();
	else if (path & 1)
		right(path, depth);
	else
		left(path, depth);
	KEEP();
}

static long long cpu_ns(void)
{
	struct timespec t;
	(void) clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* cannot fail */
	return (long long) t.tv_sec * NS_PER_S + t.tv_nsec;
}

int main(void)
{
	char line[64], kind[16];
	long n;
	unsigned stacks, path = 0;
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) != NULL) {
		if (sscanf(line, "%15s %ld %u", kind, &n, &stacks) != 3 || stacks == 0)
			return 1;
		event = strcmp(kind, "call") == 0       ? call
			: strcmp(kind, "function") == 0 ? function
			: strcmp(kind, "malloc") == 0   ? malloc_free
			: strcmp(kind, "mixed") == 0    ? mixed
							: descriptors;
		enum { TURN = 4 }; /* events of one stack before the next one's turn */
		many = n < TURN ? n : TURN;
		long long before = cpu_ns();
		for (long i = 0; i < n; i += many)
			down(path++ % stacks, DEPTH); /* goes on where the line before ended */
		printf("%lld\n", cpu_ns() - before);
		fflush(stdout);
	}
	return 0;
}
