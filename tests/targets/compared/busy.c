/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * compared FILE: threads that never rest, in all that makes frames differ: recursion, callbacks
 * through libc, stub calls, alloca() and arrays of variable length, frames of many pages and aligned
 * ones, many arguments, tail calls, calls that do not return, functions in assembler, signals on the
 * stack and on one of their own. Each keeps a record in FILE of the calls that it is in: record.h.
 * Built in many ways: targets.mk.
 */
#include "record.h"

#include <alloca.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

static volatile double sink;
static volatile int never; /* set: the compiler cannot know */

NOINLINE int r_fib(int n)
{
	enter(r_fib);
	int sum = n < 2 ? n : r_fib(n - 1) + r_fib(n - 2);
	leave();
	return sum;
}

NOINLINE void r_recursing(void)
{
	enter(r_recursing);
	sink = r_fib(9);
	leave();
}

NOINLINE int r_compare(const void *a, const void *b)
{
	enter(r_compare);
	int x = *(const int *) a, y = *(const int *) b;
	int order = (x > y) - (x < y);
	leave();
	return order;
}

NOINLINE void r_sorting(void)
{
	enter(r_sorting);
	int numbers[128];
	for (size_t i = 0; i < 128; i++)
		numbers[i] = (int) (i * 7919 % 1009);
	qsort(numbers, 128, sizeof(*numbers), r_compare);
	sink = numbers[3];
	leave();
}

NOINLINE void r_copying(void)
{
	static __thread char from[20000], to[20000];
	enter(r_copying);
	for (size_t n = 1; n < sizeof(from); n = n * 3 / 2 + 1) {
		memcpy(to, from, n);
		memmove(from + 1, from, n - 1);
		memset(to, (int) n, n);
	}
	leave();
}

/* Short calls into the C library: much of the time goes on the way there. */
NOINLINE void r_stubs(void)
{
	static const char text[] = "12345";
	enter(r_stubs);
	for (int i = 0; i < 300; i++) {
		sink += labs(i) + atoi(text + i % 4) + (double) strlen(text + i % 3);
		sink += (double) (uintptr_t) pthread_self();
	}
	leave();
}

NOINLINE void r_printing(void)
{
	enter(r_printing);
	char text[256];
	for (int i = 0; i < 8; i++)
		sink = snprintf(text, sizeof(text), "%d %s %.12g %p %-20x|", i, "text", i / 7.0,
				(void *) &never, i);
	sink += strtod("2.718281828459045e-3", NULL);
	leave();
}

NOINLINE void r_computing(void)
{
	enter(r_computing);
	double x = 0.1;
	for (int i = 0; i < 60; i++)
		x = fmod(x + sin(x) * exp(-x) + pow(fabs(x) + 1, 0.3), 7.0);
	sink = x;
	leave();
}

NOINLINE void r_allocating(void)
{
	enter(r_allocating);
	void *blocks[32];
	for (size_t i = 0; i < 32; i++)
		blocks[i] = malloc((i * 37 % 50 + 1) << (i % 10));
	for (size_t i = 0; i < 32; i++)
		free(blocks[i]);
	leave();
}

NOINLINE void r_fill(volatile char *at, size_t size)
{
	enter(r_fill);
	for (size_t i = 0; i < size; i += 16)
		at[i] = (char) i;
	leave();
}

NOINLINE void r_variable(size_t n)
{
	enter(r_variable);
	char array[n];
	r_fill(array, n);
	for (size_t i = 1; i < 4; i++)
		r_fill(alloca(n * i), n * i);
	leave();
}

NOINLINE void r_big_frame(void)
{
	enter(r_big_frame);
	volatile char pages[40000];
	r_fill(pages + 39000, 1000);
	leave();
}

/* The stack is aligned to more than the ABI's 16 bytes: the frame is found through another register. */
NOINLINE void r_aligned(size_t n)
{
	enter(r_aligned);
	__attribute__((aligned(128))) volatile char line[256];
	char array[n];
	r_fill(line, sizeof(line));
	r_fill(array, n);
	leave();
}

NOINLINE double r_many(int a, int b, int c, int d, int e, int f, long g, long h, long i, double x,
		       ...)
{
	enter(r_many);
	va_list more;
	va_start(more, x);
	double sum = (double) (a + b + c + d + e + f + g + h + i) + x;
	for (int n = 0; n < 5; n++)
		sum += va_arg(more, double);
	va_end(more);
	leave();
	return sum;
}

NOINLINE void r_arguments(void)
{
	enter(r_arguments);
	for (int i = 0; i < 50; i++)
		sink = r_many(i, 2, 3, 4, 5, 6, i, 8, 9, 10.0, 11.0, 12.0, 13.0, i * 1.0, 15.0);
	leave();
}

NOINLINE double r_after_jump(int n)
{
	enter(r_after_jump);
	double x = 0;
	for (int i = 0; i < n; i++)
		x += i * 0.5;
	leave();
	return x;
}

/* The frames of these are gone before their callee begins, where the compiler makes it a jump. */
NOINLINE double r_tail_inner(int n)
{
	enter(r_tail_inner);
	r_fill(alloca((size_t) n * 16), (size_t) n * 16);
	leave();
	return r_after_jump(n);
}

NOINLINE double r_tail_outer(int n)
{
	enter(r_tail_outer);
	sink = r_after_jump(3);
	leave();
	return r_tail_inner(n + 1);
}

NOINLINE void r_jumping(void)
{
	enter(r_jumping);
	for (int i = 0; i < 20; i++)
		sink = r_tail_outer(i);
	leave();
}

/* Where a longjmp() goes, and the record's depth there. */
struct place {
	jmp_buf jump;
	uint64_t depth;
};

__attribute__((noreturn)) NOINLINE void r_leap_last(struct place *place)
{
	enter(r_leap_last);
	r_fill(alloca(200), 200);
	record->depth = place->depth;
	longjmp(place->jump, 1);
}

/* The last instruction is the call, or the call is in a part of its own: the return address is in
 * no function, or in the next. */
NOINLINE int r_leap(struct place *place, int n)
{
	enter(r_leap);
	if (n == 0 && !never)
		r_leap_last(place);
	int left = r_leap(place, n - 1);
	leave();
	return left;
}

__attribute__((noreturn)) NOINLINE void r_leap_at_once(struct place *place)
{
	enter(r_leap_at_once);
	r_leap_last(place);
}

NOINLINE void r_leaving(void)
{
	enter(r_leaving);
	for (volatile int i = 0; i < 10; i = i + 1) {
		struct place place;
		place.depth = record->depth;
		if (setjmp(place.jump) != 0)
			continue;
		if (i % 2 == 0)
			r_leap(&place, 4);
		else
			r_leap_at_once(&place);
	}
	leave();
}

typedef void (*called)(void);

void r_asm_pushes(called f, struct record *r);
void r_asm_expression(called f, struct record *r);
void r_asm_register(called f, struct record *r);

NOINLINE void r_from_asm(void)
{
	enter(r_from_asm);
	for (int i = 0; i < 10; i++)
		sink += r_after_jump(2);
	leave();
}

NOINLINE void r_assembling(void)
{
	enter(r_assembling);
	for (int i = 0; i < 10; i++) {
		r_asm_pushes(r_from_asm, record);
		r_asm_expression(r_from_asm, record);
		r_asm_register(r_from_asm, record);
	}
	leave();
}

static const called jobs[] = {
	r_recursing, r_copying, r_sorting,   r_stubs,      r_printing,   r_jumping,   r_computing,
	r_leaving,   r_stubs,   r_big_frame, r_assembling, r_allocating, r_arguments,
};
enum { N_JOBS = sizeof(jobs) / sizeof(*jobs) };

NOINLINE void r_on_timer(int signo)
{
	enter_handler(r_on_timer);
	/* The thread's next tick comes before this one is over, now and then. */
	for (int i = 0; i < 100; i++)
		sink = r_fib(6 + signo % 2);
	leave_handler();
}

NOINLINE void r_on_stack(int signo, siginfo_t *info, void *context)
{
	enter_handler(r_on_stack);
	(void) info;
	(void) context;
	for (int i = 0; i < 50; i++) {
		r_variable(64 + (size_t) signo);
		sink = r_fib(6);
	}
	leave_handler();
}

NOINLINE void r_work(size_t from)
{
	enter(r_work);
	for (size_t i = from; !never; i++) {
		jobs[i % N_JOBS]();
		r_variable(i * 48 % 4096 + 1);
		r_aligned(i * 48 % 4096 + 1);
		if (i % 16 == from)
			raise(SIGUSR1);
	}
	leave();
}

static void own_stack(void)
{
	stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
	sigaltstack(&stack, NULL);
}

static pthread_barrier_t all;

NOINLINE void *r_worker(void *arg)
{
	record_begin((unsigned int) (size_t) arg);
	enter(r_worker);
	own_stack();
	pthread_barrier_wait(&all);
	r_work((size_t) arg * 4);
	leave();
	return NULL;
}

NOINLINE void r_main(void)
{
	enter(r_main);
	own_stack();
	pthread_barrier_wait(&all);
	printf("ready\n");
	fflush(stdout);
	r_work(0);
	leave();
}

int main(int argc, char **argv)
{
	struct sigaction on_timer = {.sa_handler = r_on_timer, .sa_flags = SA_RESTART};
	struct sigaction on_stack = {.sa_sigaction = r_on_stack,
				     .sa_flags = SA_RESTART | SA_ONSTACK | SA_SIGINFO};
	struct itimerval timer = {.it_interval = {.tv_usec = 4000}, .it_value = {.tv_usec = 4000}};
	if (argc != 2)
		return 2;
	records_map(argv[1]);
	sigaction(SIGVTALRM, &on_timer, NULL);
	sigaction(SIGUSR1, &on_stack, NULL);
	pthread_barrier_init(&all, NULL, 3);
	for (size_t i = 1; i < 3; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, r_worker, (void *) i) != 0)
			return 1;
	}
	/* Time of the process, which does not pass while it is stopped. */
	setitimer(ITIMER_VIRTUAL, &timer, NULL);
	record_begin(0);
	r_main();
	return 0;
}
