/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Maps and unmaps memory at random, and writes down whose each page is: for a line "go SEED" it prints
 * "NAME calls bytes calls-left bytes-left" for each function that maps, and then "done". A page belongs to the function
 * that mapped it, also after mremap(2) has moved it; what mremap(2) adds is its caller's. A line "exec" makes it another
 * program. For a line "unseen" it maps and unmaps by calls of 32-bit code or shmat(2), which nobody follows. For a line
 * "end" it makes threads one after the other whose last call to change memory is munmap(2).
 */
#include "call_32.h"
#include "checked.h"
#include "target.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	PAGE = 4096,
	PAGES = 2048,
	TURNS = 3000,
	LONGEST = 24,
	CALLS_MAX = 16384,
	THREADS = 2,
	THREAD_TURNS = 200
};

enum function { ANYWHERE, OVER, GROWS, COPIES, HEAP, IN_THREAD, FUNCTIONS };
static const char *const names[FUNCTIONS] = {"anywhere", "over", "grows",
					     "copies",   "heap", "in_thread"};

/* The arena: reserved before anybody looks, so each page of it has an owner of ours or is of before. */
static unsigned char *arena;
static uint32_t owner[PAGES]; /* number of the call; 0: of before; HOLE: none */
enum { HOLE = UINT32_MAX };

static struct call {
	enum function function;
	uint32_t pages; /* that are left */
} calls[CALLS_MAX];
static uint32_t n_calls = 1;
static uint64_t bytes_of[FUNCTIONS];

static uint64_t state;

static uint32_t pick(uint32_t n)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t) (state >> 33) % n;
}

static uint32_t call_new(enum function function, uint32_t pages)
{
	check(n_calls < CALLS_MAX, "too many calls");
	calls[n_calls] = (struct call){.function = function, .pages = 0};
	bytes_of[function] += (uint64_t) pages * PAGE;
	return n_calls++;
}

static void page_set(uint32_t page, uint32_t to)
{
	if (owner[page] != HOLE)
		calls[owner[page]].pages--;
	owner[page] = to;
	if (to != HOLE)
		calls[to].pages++;
}

static void pages_set(uint32_t page, uint32_t n, uint32_t to)
{
	for (uint32_t i = 0; i < n; i++)
		page_set(page + i, to);
}

static void *at(uint32_t page)
{
	return arena + (size_t) page * PAGE;
}

/* ---- calls ------------------------------------------------------------------------------------ */

ALONE static void over(uint32_t page, uint32_t n)
{
	void *p = mmap(at(page), (size_t) n * PAGE - pick(PAGE), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	check(p == at(page), "mmap MAP_FIXED");
	pages_set(page, n, call_new(OVER, n));
}

/* In the first hole that is large enough: MAP_FIXED_NOREPLACE. Over what is there it fails. */
ALONE static void anywhere(uint32_t page, uint32_t n)
{
	bool empty = true;
	for (uint32_t i = 0; i < n; i++)
		empty &= owner[page + i] == HOLE;
	void *p = mmap(at(page), (size_t) n * PAGE, PROT_READ,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	check(empty == (p == at(page)), "MAP_FIXED_NOREPLACE");
	if (empty)
		pages_set(page, n, call_new(ANYWHERE, n));
}

static void unmap(uint32_t page, uint32_t n)
{
	check(munmap(at(page), (size_t) n * PAGE) == 0, "munmap");
	pages_set(page, n, HOLE);
}

/* Moves and grows or shrinks. */
ALONE static void grows(uint32_t page, uint32_t old, uint32_t to, uint32_t n)
{
	uint32_t moved[LONGEST];
	if ((page < to + n && to < page + old))
		return; /* which is refused */
	/* A mapping that differs in nothing can be moved at once. */
	over(page, old);
	memcpy(moved, &owner[page], old * sizeof(*moved));
	void *p = mremap(at(page), (size_t) old * PAGE, (size_t) n * PAGE,
			 MREMAP_MAYMOVE | MREMAP_FIXED, at(to));
	check(p == at(to), "mremap");
	for (uint32_t i = 0; i < old && i < n; i++) {
		page_set(page + i, HOLE);
		page_set(to + i, moved[i]);
	}
	for (uint32_t i = n; i < old; i++)
		page_set(page + i, HOLE);
	if (n > old)
		pages_set(to + old, n - old, call_new(GROWS, n - old));
}

/* MREMAP_DONTUNMAP leaves what was there. */
ALONE static void copies(uint32_t page, uint32_t to, uint32_t n)
{
	if (page < to + n && to < page + n)
		return;
	over(page, n);
	void *p = mremap(at(page), (size_t) n * PAGE, (size_t) n * PAGE,
			 MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, at(to));
	check(p == at(to), "MREMAP_DONTUNMAP");
	pages_set(to, n, call_new(COPIES, n));
}

/* Fails, and changes nothing. */
static void fails(uint32_t page)
{
	check(munmap((char *) at(page) + 1, PAGE) < 0, "munmap of no page");
	check(mremap(at(page), 0, PAGE, 0) == MAP_FAILED, "mremap of nothing");
	check(mremap(at(page), PAGE, PAGE, MREMAP_FIXED, at(page)) == MAP_FAILED, "mremap");
}

static void protect(uint32_t page, uint32_t n)
{
	(void) mprotect(at(page), (size_t) n * PAGE, pick(2) ? PROT_READ : PROT_READ | PROT_WRITE);
}

static void arena_turn(void)
{
	uint32_t n = 1 + pick(LONGEST), old = 1 + pick(LONGEST);
	uint32_t page = pick(PAGES - LONGEST), to = pick(PAGES - LONGEST);
	switch (pick(8)) {
	case 0:
	case 1: over(page, n); break;
	case 2: anywhere(page, n); break;
	case 3:
	case 4: unmap(page, n); break;
	case 5: grows(page, old, to, n); break;
	case 6: copies(page, to, n); break;
	default:
		protect(page, n);
		if (pick(4) == 0)
			fails(page);
	}
}

/* ---- the heap --------------------------------------------------------------------------------- */

enum { HEAP_STEPS = 40 };
static uint32_t steps[HEAP_STEPS], n_steps, heap_calls, heap_left_pages;

/* brk(2) as the kernel has it. */
ALONE static void heap_to(uintptr_t end)
{
	check((uintptr_t) syscall(SYS_brk, end) == end, "brk");
}

/* Grows by steps, and shrinks again into the middle of one. */
static void heap(void)
{
	uintptr_t base = (uintptr_t) syscall(SYS_brk, 0),
		  begin = (base + PAGE - 1) & -(uintptr_t) PAGE;
	uintptr_t end = begin;
	for (n_steps = 0; n_steps < HEAP_STEPS; n_steps++) {
		steps[n_steps] = 1 + pick(8);
		end += (uintptr_t) steps[n_steps] * PAGE;
		heap_to(end - pick(PAGE));
		bytes_of[HEAP] += (uint64_t) steps[n_steps] * PAGE;
	}
	heap_to(end);
	check((uintptr_t) syscall(SYS_brk, 1) == end, "brk below the heap");
	heap_calls += HEAP_STEPS;
	for (int i = 0; i < 7; i++) {
		uint32_t pages = 1 + pick(20);
		if (begin + (uintptr_t) pages * PAGE >= end)
			break;
		end -= (uintptr_t) pages * PAGE;
		heap_to(end - pick(PAGE));
		heap_to(end);
	}
	heap_left_pages = (uint32_t) ((end - begin) / PAGE);
}

static uint32_t heap_left_calls(void)
{
	uint32_t pages = 0, n = 0;
	for (; n < HEAP_STEPS && pages < heap_left_pages; n++)
		pages += steps[n];
	return n;
}

/* ---- others ----------------------------------------------------------------------------------- */

/* Addresses that several threads get and give up at the same time. Each keeps one. */
ALONE static void *in_thread(void *arg)
{
	for (int i = 0; i < THREAD_TURNS; i++) {
		char *p = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		check(p != MAP_FAILED, "mmap");
		check(i == 0 || munmap(p, 2 * PAGE) == 0, "munmap");
	}
	return arg;
}

static void by_threads(void)
{
	static pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++)
		check(pthread_create(&threads[i], NULL, in_thread, NULL) == 0, "pthread_create");
	for (int i = 0; i < THREADS; i++)
		check(pthread_join(threads[i], NULL) == 0, "pthread_join");
}

/* Mappings of a child are others. */
static void in_child(void)
{
	pid_t child = fork();
	if (child == 0) {
		(void) munmap(arena, (size_t) PAGES * PAGE);
		(void) !mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		_exit(0);
	}
	check(waitpid(child, NULL, 0) == child, "waitpid");
}

ALONE static void unseen(void)
{
	enum { I386_MUNMAP = 91, LOW = 0x20000000 };
	void *p = mmap((void *) LOW, 4 * PAGE, PROT_READ,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	check(p == (void *) LOW, "mmap");
	check(call_32(I386_MUNMAP, LOW + PAGE, 3 * PAGE, 0) == 0, "munmap of 32-bit code");
	int id = shmget(IPC_PRIVATE, 5 * PAGE, IPC_CREAT | 0600);
	check(id >= 0 && shmat(id, NULL, 0) != (void *) -1, "shmat");
	check(shmctl(id, IPC_RMID, NULL) == 0, "shmctl");
}

static void *map_and_end(void *arg)
{
	void *p = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(p != MAP_FAILED && munmap(p, PAGE) == 0, "munmap");
	return arg;
}

static void threads_end(void)
{
	enum { MANY = 10000 };
	pthread_t thread;
	for (int i = 0; i < MANY; i++) {
		check(pthread_create(&thread, NULL, map_and_end, NULL) == 0, "pthread_create");
		check(pthread_join(thread, NULL) == 0, "pthread_join");
	}
}

static void say(void)
{
	uint32_t n[FUNCTIONS] = {0}, left[FUNCTIONS] = {0};
	uint64_t bytes[FUNCTIONS] = {0};
	for (uint32_t i = 1; i < n_calls; i++) {
		n[calls[i].function]++;
		left[calls[i].function] += calls[i].pages > 0;
		bytes[calls[i].function] += (uint64_t) calls[i].pages * PAGE;
	}
	n[HEAP] = heap_calls;
	left[HEAP] = heap_left_calls();
	bytes[HEAP] = (uint64_t) heap_left_pages * PAGE;
	n[IN_THREAD] = THREADS * THREAD_TURNS;
	bytes_of[IN_THREAD] = (uint64_t) THREADS * THREAD_TURNS * 2 * PAGE;
	left[IN_THREAD] = THREADS;
	bytes[IN_THREAD] = (uint64_t) THREADS * 2 * PAGE;
	for (int i = 0; i < FUNCTIONS; i++)
		printf("%s %u %llu %u %llu\n", i == HEAP ? "heap_to" : names[i], n[i],
		       (unsigned long long) bytes_of[i], left[i], (unsigned long long) bytes[i]);
	printf("done\n");
}

int main(int argc, char **argv)
{
	char line[32];
	(void) argc;
	setvbuf(stdin, malloc(BUFSIZ), _IOFBF, BUFSIZ);
	setvbuf(stdout, malloc(BUFSIZ), _IOFBF, BUFSIZ);
	arena = mmap(NULL, (size_t) PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(arena != MAP_FAILED, "mmap");
	calls[0].pages = PAGES;
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) != NULL) {
		if (strcmp(line, "exec\n") == 0)
			(void) execl(argv[0], argv[0], (char *) NULL); /* or it goes on */
		if (strcmp(line, "unseen\n") == 0) {
			unseen();
			printf("done\n");
		} else if (strcmp(line, "end\n") == 0) {
			threads_end();
			printf("done\n");
		} else {
			state = strtoull(line + strcspn(line, " "), NULL, 10);
			for (int i = 0; i < TURNS; i++)
				arena_turn();
			in_child();
			heap();
			by_threads();
			say();
		}
		fflush(stdout);
	}
	return 0;
}
