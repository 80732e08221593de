/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Allocates and frees at random by all functions of an allocator, in several threads at once, and writes down who has what:
 * for a line "go SEED" it prints "NAME acquired bytes left bytes-left" for each function that allocates, "- unknown", the
 * number of blocks from before that were freed, and "done". Some blocks are freed by another thread than theirs. "pace N" makes N blocks
 * and frees each, and prints how many ns of CPU time that took. "maps" begins a thread that maps a page and unmaps it, a
 * thousand times a second.
 */
#include "target.h"

#include <malloc.h>
#include <new>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { TURNS = 120, THREADS = 2, HELD_MAX = 1024, BEFORE = 5 };

enum who {
	BY_MALLOC,
	BY_CALLOC,
	BY_REALLOC,
	BY_ALIGNED_ALLOC,
	BY_MEMALIGN,
	BY_POSIX_MEMALIGN,
	BY_STRDUP,
	BY_NEW,
	BY_NEW_ARRAY,
	BY_NEW_NOTHROW,
	BY_NEW_ALIGNED,
	WHOS
};
static const char *const names[WHOS] = {"by_malloc",        "by_calloc",     "by_realloc",
					"by_aligned_alloc", "by_memalign",   "by_posix_memalign",
					"by_strdup",        "by_new",        "by_new_array",
					"by_new_nothrow",   "by_new_aligned"};

struct held {
	who by;
	void *block;
	size_t size;
};

struct owner {
	uint64_t state;
	held all[HELD_MAX];
	size_t n;
	uint64_t acquired[WHOS], bytes[WHOS];
};
static owner owners[THREADS + 1];
static uint64_t n_unknown;
static const std::align_val_t ALIGNED{64};

static uint32_t pick(owner *o, uint32_t n)
{
	o->state = o->state * 6364136223846793005U + 1442695040888963407U;
	return (uint32_t) (o->state >> 33) % n;
}

static void note(owner *o, who by, void *block, size_t size)
{
	if (block == nullptr || o->n == HELD_MAX)
		abort();
	o->all[o->n++] = {by, block, size};
	o->acquired[by]++;
	o->bytes[by] += size;
}

extern "C" {

NOINLINE void by_malloc(owner *o)
{
	size_t size = 1 + pick(o, 5000);
	note(o, BY_MALLOC, malloc(size), size);
}

NOINLINE void by_calloc(owner *o)
{
	size_t n = 1 + pick(o, 9), size = 1 + pick(o, 500);
	note(o, BY_CALLOC, calloc(n, size), n * size);
}

/* Blocks of operator new stay with its own functions. */
NOINLINE void by_realloc(owner *o)
{
	size_t size = 1 + pick(o, 9000), at = o->n > 0 ? pick(o, (uint32_t) o->n) : 0;
	void *old = nullptr;
	if (o->n > 0 && o->all[at].by < BY_NEW) {
		old = o->all[at].block;
		o->all[at] = o->all[--o->n];
	}
	note(o, BY_REALLOC, realloc(old, size), size);
}

NOINLINE void by_aligned_alloc(owner *o)
{
	size_t size = 64 * (1 + pick(o, 50));
	note(o, BY_ALIGNED_ALLOC, aligned_alloc(64, size), size);
}

NOINLINE void by_memalign(owner *o)
{
	size_t size = 1 + pick(o, 5000);
	note(o, BY_MEMALIGN, memalign(256, size), size);
}

NOINLINE void by_posix_memalign(owner *o)
{
	void *block = nullptr;
	size_t size = 1 + pick(o, 5000);
	if (posix_memalign(&block, 64, size) != 0)
		abort();
	note(o, BY_POSIX_MEMALIGN, block, size);
}

NOINLINE void by_strdup(owner *o)
{
	char text[100];
	size_t length = pick(o, 99);
	memset(text, 'a', length);
	text[length] = '\0';
	note(o, BY_STRDUP, strdup(text), length + 1);
}

NOINLINE void by_new(owner *o)
{
	size_t size = 1 + pick(o, 5000);
	note(o, BY_NEW, operator new(size), size);
}

NOINLINE void by_new_array(owner *o)
{
	size_t size = 1 + pick(o, 5000);
	note(o, BY_NEW_ARRAY, operator new[](size), size);
}

NOINLINE void by_new_nothrow(owner *o)
{
	size_t size = 1 + pick(o, 5000);
	note(o, BY_NEW_NOTHROW, operator new(size, std::nothrow), size);
}

NOINLINE void by_new_aligned(owner *o)
{
	size_t size = 64 * (1 + pick(o, 50));
	note(o, BY_NEW_ALIGNED, operator new(size, ALIGNED), size);
}

} /* extern "C" */

static void give_back(owner *o, size_t at)
{
	held h = o->all[at];
	o->all[at] = o->all[--o->n];
	switch (h.by) {
	case BY_NEW: operator delete(h.block, h.size); break;
	case BY_NEW_ARRAY: operator delete[](h.block); break;
	case BY_NEW_NOTHROW: operator delete(h.block, std::nothrow); break;
	case BY_NEW_ALIGNED: operator delete(h.block, ALIGNED); break;
	default: free(h.block); break;
	}
}

/* A call that fails leaves its block there. */
static void realloc_fails(owner *o)
{
	static volatile size_t too_large = SIZE_MAX / 2 - 4096;
	size_t at = o->n > 0 ? pick(o, (uint32_t) o->n) : 0;
	if (o->n > 0 && o->all[at].by < BY_NEW && realloc(o->all[at].block, too_large) != nullptr)
		abort();
}

static void *work(void *arg)
{
	static void (*const all[])(owner *) = {by_malloc,        by_calloc,     by_realloc,
					       by_aligned_alloc, by_memalign,   by_posix_memalign,
					       by_strdup,        by_new,        by_new_array,
					       by_new_nothrow,   by_new_aligned};
	owner *o = (owner *) arg;
	for (int i = 0; i < TURNS; i++) {
		all[pick(o, WHOS)](o);
		if (pick(o, 6) == 0)
			realloc_fails(o);
		if (o->n > 0 && pick(o, 3) > 0)
			give_back(o, pick(o, (uint32_t) o->n));
	}
	return nullptr;
}

static void told_put(void)
{
	for (int by = 0; by < WHOS; by++) {
		uint64_t acquired = 0, bytes = 0, left = 0, left_bytes = 0;
		for (owner &o : owners) {
			acquired += o.acquired[by];
			bytes += o.bytes[by];
			for (size_t i = 0; i < o.n; i++) {
				left += o.all[i].by == by;
				left_bytes += o.all[i].by == by ? o.all[i].size : 0;
			}
		}
		printf("%s %lu %lu %lu %lu\n", names[by], acquired, bytes, left, left_bytes);
	}
	printf("- %lu 0 0 0\n", n_unknown);
}

static pthread_barrier_t go_barrier, gone_barrier;

/* The C library's own blocks of threads are from before. */
static void *thread(void *arg)
{
	for (;;) {
		(void) pthread_barrier_wait(&go_barrier);
		(void) work(arg);
		(void) pthread_barrier_wait(&gone_barrier);
	}
	return nullptr;
}

static void go(uint64_t seed, void *before[BEFORE])
{
	for (int i = 0; i < BEFORE; i++, n_unknown++)
		free(before[i]);
	for (uint64_t i = 0; i <= THREADS; i++)
		owners[i].state = seed + i;
	(void) pthread_barrier_wait(&go_barrier);
	(void) work(&owners[THREADS]);
	(void) pthread_barrier_wait(&gone_barrier);
	for (int i = 0; i < THREADS; i++) /* what another thread has allocated */
		while (owners[i].n > 10)
			give_back(&owners[i], 0);
	told_put();
}

static void pace(unsigned long n)
{
	timespec begin, end;
	volatile unsigned sum = 0;
	(void) clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	for (; n > 0; n--) {
		void *volatile block = malloc(100);
		for (unsigned i = 0; i < 1000; i++)
			sum = sum + i;
		free(block);
	}
	(void) clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	printf("%ld\n", (end.tv_sec - begin.tv_sec) * 1000000000L + end.tv_nsec - begin.tv_nsec);
}

static void *maps(void *)
{
	const timespec pause = {0, 50000};
	for (;;) {
		void *page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		(void) munmap(page, 4096);
		(void) nanosleep(&pause, nullptr);
	}
	return nullptr;
}

int main(void)
{
	char line[64];
	pthread_t mapping;
	pthread_t threads[THREADS];
	void *before[BEFORE];
	setbuf(stdout, nullptr);
	(void) pthread_barrier_init(&go_barrier, nullptr, THREADS + 1);
	(void) pthread_barrier_init(&gone_barrier, nullptr, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], nullptr, thread, &owners[i]) != 0)
			abort();
	for (void *&block : before)
		block = malloc(10);
	printf("ready\n");
	while (fgets(line, sizeof(line), stdin) != nullptr) {
		if (strncmp(line, "go ", 3) == 0)
			go(strtoull(line + 3, nullptr, 10), before);
		else if (strncmp(line, "pace ", 5) == 0)
			pace(strtoul(line + 5, nullptr, 10));
		else if (strcmp(line, "maps\n") == 0 &&
			 pthread_create(&mapping, nullptr, maps, nullptr) != 0)
			abort();
		printf("done\n");
	}
	return 0;
}
