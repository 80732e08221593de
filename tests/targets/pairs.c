/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Acquires from functions of its own and releases at random, and writes down who has what: for a line "go SEED" it prints
 * "NAME acquired bytes left bytes-left" for each function that acquires, and then "done"; for "blocks SEED" the same of the
 * C library's blocks. A line "exec" makes it another
 * program; "fork" makes a child that releases all that it has; "many N" acquires N things and releases none. "ring" begins a thread that acquires and releases
 * without an end, and has RING things at most; "turn" waits until it has acquired RING more, and "rings" prints how many it has acquired.
 * "spin" begins a thread that only computes. "storm N" makes three threads take and give back one reference N times at once, and one
 * more each that they keep.
 */
#include "target.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TURNS = 300, THREADS = 2, HELD_MAX = 4096, BEFORE = 5, RING = 16, STORM_THREADS = 3 };

enum who {
	BY_RESULT,
	BY_ARGUMENT,
	BY_NUMBER,
	BY_JUMP,
	SHARED,
	BY_OUTER,
	IN_THREAD,
	BY_MALLOC,
	BY_CALLOC,
	BY_REALLOC,
	BY_MEMALIGN,
	BY_STRDUP,
	WHOS
};
static const char *const names[WHOS] = {"by_result", "by_argument", "by_number",   "by_jump",
					"shared",    "by_outer",    "in_thread",   "by_malloc",
					"by_calloc", "by_realloc",  "by_memalign", "by_strdup"};

struct held {
	enum who who;
	uint64_t handle, size;
};

static struct {
	uint64_t acquired, bytes, left, left_bytes;
} told[WHOS];
static struct held all[HELD_MAX];
static size_t n_held;
static uint64_t n_unknown, n_none;
static uint64_t next_number = 1;
static uint64_t state;

static uint32_t pick(uint32_t n)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t) (state >> 33) % n;
}

/* ---- functions that are followed --------------------------------------------------------------- */

/* NULL where size is 0. Two returns. */
ALONE void *pool_get(size_t size)
{
	if (size == 0)
		return NULL;
	void *block = malloc(size);
	__asm__ volatile("" : : "r"(block) : "memory");
	return block;
}

/* A function of the same pair that calls another one: one thing is acquired. */
ALONE void *outer_get(size_t size)
{
	void *block = pool_get(size);
	__asm__ volatile("" : : "r"(block) : "memory");
	return block;
}

ALONE void pool_put(void *block)
{
	free(block);
}

/* 0 and *ret, else an error and nonsense there. */
ALONE int open_out(void **ret, size_t size)
{
	*ret = malloc(size);
	if (size % 5 != 0)
		return 0;
	free(*ret);
	return -1;
}

ALONE void close_out(int unused, void *block)
{
	__asm__ volatile("" : : "r"(unused) : "memory");
	free(block);
}

/* The handle is what the caller says. */
ALONE int number_add(uint64_t number)
{
	__asm__ volatile("" : : "r"(number) : "memory");
	return 1;
}

/* Another name of the same code. */
int number_also(uint64_t number) __attribute__((alias("number_add")));

/* The kernel probes no instruction with this prefix. */
__asm__(".text\n"
	".globl locked_get\n"
	".type locked_get, @function\n"
	"locked_get:\n"
	"	lock incl 4(%rdi)\n"
	"	mov %rdi, %rax\n"
	"	ret\n"
	".size locked_get, . - locked_get\n");

ALONE void number_drop(uint64_t number)
{
	__asm__ volatile("" : : "r"(number) : "memory");
}

static ALONE void *jumped_to(size_t size, int flag)
{
	void *block = malloc(size);
	__asm__ volatile("" : : "r"(flag), "r"(block) : "memory");
	return block;
}

/* The function ends by a jump: another one returns for it. */
ALONE void *jump_get(size_t size)
{
	return jumped_to(size, 6);
}

ALONE void jump_put(void *block)
{
	free(block);
}

/* Counts references: each gives the same handle. */
static uint64_t reference = 77;
ALONE uint64_t *reference_get(void)
{
	__asm__ volatile("" : : : "memory");
	return &reference;
}

ALONE void reference_put(uint64_t *of)
{
	__asm__ volatile("" : : "r"(of) : "memory");
}

/* ---- who acquires ------------------------------------------------------------------------------ */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void note(enum who who, uint64_t handle, uint64_t size)
{
	if (n_held == HELD_MAX)
		abort();
	all[n_held++] = (struct held){.who = who, .handle = handle, .size = size};
	told[who].acquired++;
	told[who].bytes += size;
}

ALONE void by_result(void)
{
	size_t size = pick(100);
	void *block = pool_get(size);
	if (block == NULL)
		n_none++;
	else
		note(BY_RESULT, (uintptr_t) block, size);
}

ALONE void by_argument(void)
{
	void *block;
	size_t size = 1 + pick(100);
	if (open_out(&block, size) == 0)
		note(BY_ARGUMENT, (uintptr_t) block, size);
	else
		n_none++;
}

ALONE void by_number(void)
{
	uint64_t number = next_number++;
	number_add(number);
	note(BY_NUMBER, number, 0);
}

ALONE void by_jump(void)
{
	size_t size = 1 + pick(100);
	note(BY_JUMP, (uintptr_t) jump_get(size), size);
}

ALONE void shared(void)
{
	note(SHARED, (uintptr_t) reference_get(), 0);
}

ALONE void by_outer(void)
{
	size_t size = 1 + pick(100);
	note(BY_OUTER, (uintptr_t) outer_get(size), size);
}

ALONE void in_thread(void)
{
	size_t size = 1 + pick(100);
	note(IN_THREAD, (uintptr_t) pool_get(size), size);
}

static void give_back(size_t at)
{
	struct held held = all[at];
	all[at] = all[--n_held];
	switch (held.who) {
	case BY_RESULT:
	case BY_OUTER:
	case IN_THREAD: pool_put((void *) (uintptr_t) held.handle); break;
	case BY_ARGUMENT: close_out(1, (void *) (uintptr_t) held.handle); break;
	case BY_NUMBER: number_drop(held.handle); break;
	case BY_JUMP: jump_put((void *) (uintptr_t) held.handle); break;
	case BY_MALLOC:
	case BY_CALLOC:
	case BY_REALLOC:
	case BY_MEMALIGN:
	case BY_STRDUP: free((void *) (uintptr_t) held.handle); break;
	default: reference_put((uint64_t *) (uintptr_t) held.handle); break;
	}
}

/* ---- the C library's blocks -------------------------------------------------------------------- */

ALONE void by_malloc(void)
{
	size_t size = 1 + pick(5000);
	note(BY_MALLOC, (uintptr_t) malloc(size), size);
}

ALONE void by_calloc(void)
{
	size_t n = 1 + pick(9), size = 1 + pick(500);
	note(BY_CALLOC, (uintptr_t) calloc(n, size), n * size);
}

/* Reallocates a block that another function has acquired, or a new one. */
ALONE void by_realloc(void)
{
	size_t size = 1 + pick(5000);
	uint64_t old = 0;
	if (n_held > 0 && pick(4) > 0) {
		size_t at = pick((uint32_t) n_held);
		old = all[at].handle;
		all[at] = all[--n_held];
	}
	note(BY_REALLOC, (uintptr_t) realloc((void *) (uintptr_t) old, size), size);
}

/* A call that fails leaves its block there, one for nothing frees it; both hand out nothing. */
static void realloc_to_nothing(void)
{
	/* By memory that the compiler does not see through: it knows that no object is so large. */
	static volatile size_t too_large = SIZE_MAX / 2;
	if (n_held == 0)
		return;
	size_t at = pick((uint32_t) n_held);
	void *block = (void *) (uintptr_t) all[at].handle;
	n_none++;
	if (pick(3) > 0) {
		if (realloc(block, too_large) != NULL)
			abort();
		return;
	}
	if (realloc(block, 0) != NULL)
		abort();
	all[at] = all[--n_held];
}

ALONE void by_memalign(void)
{
	void *block;
	size_t size = 1 + pick(5000);
	if (posix_memalign(&block, 64, size) != 0)
		abort();
	note(BY_MEMALIGN, (uintptr_t) block, size);
}

ALONE void by_strdup(void)
{
	char text[100];
	size_t length = pick(99);
	memset(text, 'a', length);
	text[length] = '\0';
	note(BY_STRDUP, (uintptr_t) strdup(text), length + 1);
}

static void *thread(void *unused)
{
	(void) unused;
	for (int i = 0; i < TURNS / 4; i++) {
		(void) pthread_mutex_lock(&lock);
		in_thread();
		if (n_held > 0 && pick(2) == 0)
			give_back(pick((uint32_t) n_held));
		(void) pthread_mutex_unlock(&lock);
	}
	return NULL;
}

/* ---- what it is told --------------------------------------------------------------------------- */

static void told_put(void)
{
	for (size_t i = 0; i < n_held; i++) {
		told[all[i].who].left++;
		told[all[i].who].left_bytes += all[i].size;
	}
	for (size_t i = 0; i < WHOS; i++)
		printf("%s %lu %lu %lu %lu\n", names[i], told[i].acquired, told[i].bytes,
		       told[i].left, told[i].left_bytes);
	printf("- %lu %lu 0 0\n", n_unknown, n_none);
}

static void go(uint64_t seed, void *before[BEFORE])
{
	static void (*const acquirers[])(void) = {by_result, by_argument, by_number,
						  by_jump,   shared,      by_outer};
	pthread_t threads[THREADS];
	state = seed;
	for (int i = 0; i < BEFORE; i++, n_unknown++)
		pool_put(before[i]);
	for (int i = 0; i < TURNS; i++) {
		acquirers[pick(6)]();
		if (n_held > 0 && pick(3) > 0)
			give_back(pick((uint32_t) n_held));
	}
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, thread, NULL) != 0)
			abort();
	for (int i = 0; i < THREADS; i++)
		(void) pthread_join(threads[i], NULL);
	told_put();
}

/* Random blocks, of which some are from before. */
static void blocks(uint64_t seed, void *before[BEFORE])
{
	static void (*const acquirers[])(void) = {by_malloc, by_calloc, by_realloc, by_memalign,
						  by_strdup};
	state = seed;
	for (int i = 0; i < BEFORE; i++, n_unknown++)
		free(before[i]);
	for (int i = 0; i < TURNS; i++) {
		acquirers[pick(5)]();
		if (pick(5) == 0)
			realloc_to_nothing();
		if (n_held > 0 && pick(3) > 0)
			give_back(pick((uint32_t) n_held));
	}
	told_put();
}

/* The child has a copy of all, and what it releases is its own. */
static void child_releases(void)
{
	pid_t pid = fork();
	if (pid == 0) {
		while (n_held > 0)
			give_back(0);
		_exit(0);
	}
	(void) waitpid(pid, NULL, 0);
}

static atomic_ulong n_ring;

/* The loop uses less than a CPU has: some thousand calls a second. */
static void *ring(void *unused)
{
	void *things[RING] = {0};
	const struct timespec pause = {.tv_nsec = 100000};
	(void) unused;
	for (size_t i = 0;; i = (i + 1) % RING) {
		if (things[i] != NULL)
			pool_put(things[i]);
		things[i] = pool_get(1 + i);
		n_ring++;
		(void) nanosleep(&pause, NULL);
	}
	return NULL;
}

static void ring_begin(void)
{
	pthread_t id;
	if (pthread_create(&id, NULL, ring, NULL) != 0)
		abort();
}

static void *spin(void *unused)
{
	for (volatile unsigned long n = 0;; n++)
		continue;
	return unused;
}

static void spin_begin(void)
{
	pthread_t id;
	if (pthread_create(&id, NULL, spin, NULL) != 0)
		abort();
}

static atomic_bool storm_begins;

static void *storm_thread(void *n)
{
	while (!storm_begins)
		continue;
	for (unsigned long left = *(unsigned long *) n; left > 0; left--) {
		(void) reference_get();
		reference_put(&reference);
	}
	(void) reference_get();
	return NULL;
}

static void storm(unsigned long n)
{
	pthread_t ids[STORM_THREADS];
	storm_begins = false;
	for (int i = 0; i < STORM_THREADS; i++)
		if (pthread_create(&ids[i], NULL, storm_thread, &n) != 0)
			abort();
	storm_begins = true;
	for (int i = 0; i < STORM_THREADS; i++)
		(void) pthread_join(ids[i], NULL);
}

static void ring_wait(void)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	for (unsigned long end = n_ring + RING; n_ring < end;)
		(void) nanosleep(&pause, NULL);
}

int main(int argc, char **argv)
{
	char line[64];
	void *before[BEFORE], *blocks_before[BEFORE];
	(void) argc;
	for (int i = 0; i < BEFORE; i++)
		before[i] = pool_get(10);
	for (int i = 0; i < BEFORE; i++)
		blocks_before[i] = malloc(10);
	setbuf(stdout, NULL);
	printf("ready\n");
	while (fgets(line, sizeof(line), stdin) != NULL) {
		if (strncmp(line, "go ", 3) == 0)
			go(strtoull(line + 3, NULL, 10), before);
		else if (strncmp(line, "blocks ", 7) == 0)
			blocks(strtoull(line + 7, NULL, 10), blocks_before);
		else if (strncmp(line, "many ", 5) == 0)
			for (unsigned long n = strtoul(line + 5, NULL, 10); n > 0; n--)
				by_number();
		else if (strcmp(line, "fork\n") == 0)
			child_releases();
		else if (strcmp(line, "ring\n") == 0)
			ring_begin();
		else if (strncmp(line, "storm ", 6) == 0)
			storm(strtoul(line + 6, NULL, 10));
		else if (strcmp(line, "spin\n") == 0)
			spin_begin();
		else if (strcmp(line, "turn\n") == 0)
			ring_wait();
		else if (strcmp(line, "rings\n") == 0)
			printf("rings %lu\n", n_ring);
		else if (strcmp(line, "exec\n") == 0)
			(void) execv("/proc/self/exe", argv);
		printf("done\n");
	}
	return 0;
}
