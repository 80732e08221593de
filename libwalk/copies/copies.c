/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "copies/copies.h"
#include "cleanup.h"
#include "copies/recipe.h"
#include "copies/ring.h"
#include "cpus.h"
#include "errors.h"
#include "iterate/sample.h"
#include "text.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	DEFAULT_STACK_BYTES = 16 << 10,
	/* Half a second of 16 KiB at 999 Hz, for which the reader may get no CPU. Above four CPUs the
	 * maximum leaves less for each. */
	RING_CPU_BYTES = 8 << 20,
	RING_MIN_BYTES = 8 << 20,
	RING_MAX_BYTES = 32 << 20,
	CPUS_MAX = 4096,
	NOBODY = -1, /* a pid */
	KNOWN_BYTES = SW_SAMPLED_KNOWN_MAX * sizeof(struct sw_sampled_known),
};

struct sw_copies {
	struct sw_iterate_sample sample;  /* owned */
	struct sw_iterate_programs calls; /* owned: with by_calls; sample is that of it */
	bool by_calls;
	struct sw_copies_ring ring;             /* owned */
	const struct sw_sampled_counts *counts; /* owned: a mapping, by CPU */
	struct sw_sampled_recipe *recipes;      /* owned: a mapping */
	struct sw_sampled_known *known; /* owned: a mapping; NULL: not all processes are copied */
	struct sw_called_setup *called; /* owned: a mapping; NULL: not by_calls */
	pid_t *pids;                    /* owned: by the number of their recipe; 0: nobody has it */
	size_t n_cpus, counts_bytes, n_processes, recipes_bytes;
	struct sw_copy_part parts[SW_COPY_PARTS_MAX]; /* of the last one */
};

static size_t ring_bytes(const struct sw_copies_options *o, size_t n_cpus)
{
	size_t wanted = o->ring_bytes != 0 ? o->ring_bytes : n_cpus * RING_CPU_BYTES;
	size_t bytes = RING_MIN_BYTES;
	while (bytes < wanted && bytes < RING_MAX_BYTES)
		bytes *= 2;
	return bytes;
}

/* The numbers of CPUs may have gaps: as many as the largest number wants. Where the list cannot be read, the
 * number of CPUs has to do. */
static size_t cpus_count(void)
{
	enum { TEXT_MAX = 4096 };
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	size_t end = 0;
	if (sw_text_read_at(&text, AT_FDCWD, "/sys/devices/system/cpu/possible", TEXT_MAX) == 0)
		end = sw_cpus_end(text.data, CPUS_MAX);
	if (end > 0)
		return end;
	long n = sysconf(_SC_NPROCESSORS_CONF);
	return n < 1 ? 1 : n > CPUS_MAX ? CPUS_MAX : (size_t) n;
}

static int namespace_find(struct sw_sampled_setup *setup, struct sw_error *err)
{
	struct stat st;
	if (stat("/proc/self/ns/pid", &st) < 0)
		return sw_fail_errno(err, SW_E_UNSUPPORTED,
				     "the pid namespace of this process is not known");
	setup->pid_namespace = (uint32_t) st.st_ino;
	return 0;
}

static int called_map(struct sw_copies *c, struct sw_error *err)
{
	void *called = mmap(NULL, sizeof(*c->called), PROT_READ | PROT_WRITE, MAP_SHARED,
			    c->calls.called_fd, 0);
	if (called == MAP_FAILED)
		return sw_fail_errno(err, SW_E_NOT_PERMITTED, "a map of BPF cannot be mapped");
	c->called = called;
	return 0;
}

static int maps_map(struct sw_copies *c, size_t bytes, struct sw_error *err)
{
	int r = sw_copies_ring_map(c->sample.ring_fd, bytes, &c->ring);
	if (r < 0) {
		errno = -r;
		return sw_fail_errno(err, SW_E_NOT_PERMITTED, "a ring of BPF cannot be mapped");
	}
	c->counts_bytes = c->n_cpus * sizeof(*c->counts);
	void *counts = mmap(NULL, c->counts_bytes, PROT_READ, MAP_SHARED, c->sample.counts_fd, 0);
	if (counts == MAP_FAILED)
		return sw_fail_errno(err, SW_E_NOT_PERMITTED, "a map of BPF cannot be mapped");
	c->counts = counts;
	c->recipes_bytes = c->n_processes * sizeof(*c->recipes);
	void *recipes = mmap(NULL, c->recipes_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
			     c->sample.recipes_fd, 0);
	if (recipes == MAP_FAILED)
		return sw_fail_errno(err, SW_E_NOT_PERMITTED, "a map of BPF cannot be mapped");
	c->recipes = recipes;
	if (c->sample.known_fd < 0)
		return 0;
	void *known =
		mmap(NULL, KNOWN_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, c->sample.known_fd, 0);
	if (known == MAP_FAILED)
		return sw_fail_errno(err, SW_E_NOT_PERMITTED, "a map of BPF cannot be mapped");
	c->known = known;
	c->pids[0] = NOBODY; /* the recipe of all who have none */
	return 0;
}

static int calls_open(struct sw_copies *c, const struct sw_copies_options *o,
		      const struct sw_iterate_sample_sizes *sizes,
		      const struct sw_sampled_setup *setup, struct sw_error *err)
{
	int r = sw_iterate_calls_open(o->calls, sizes, setup, o->called, &c->calls, err);
	if (r < 0)
		return r;
	c->by_calls = true;
	c->sample = c->calls.sample;
	return 0;
}

int sw_copies_open(const struct sw_copies_options *o, struct sw_copies **ret, struct sw_error *err)
{
	struct sw_sampled_setup setup = {
		.stack_bytes = (uint32_t) (o->stack_bytes == 0 ? DEFAULT_STACK_BYTES
					   : o->stack_bytes < SW_SAMPLED_STACK_MAX
						   ? o->stack_bytes
						   : SW_SAMPLED_STACK_MAX)};
	struct sw_copies *c = calloc(1, sizeof(*c));
	if (c == NULL)
		return sw_fail_nomem(err);
	c->sample =
		(struct sw_iterate_sample){-EBADF, -EBADF, -EBADF, -EBADF, -EBADF, -EBADF, -EBADF};
	c->n_cpus = cpus_count();
	size_t bytes = ring_bytes(o, c->n_cpus);
	c->n_processes = o->n_processes == 0                         ? 1
			 : o->n_processes < SW_SAMPLED_PROCESSES_MAX ? o->n_processes
								     : SW_SAMPLED_PROCESSES_MAX;
	const struct sw_iterate_sample_sizes sizes = {.n_cpus = (uint32_t) c->n_cpus,
						      .n_processes = (uint32_t) c->n_processes,
						      .ring_bytes = (uint32_t) bytes,
						      .n_held = o->n_held,
						      .all = o->all,
						      .linked = o->linked};
	c->pids = calloc(c->n_processes, sizeof(*c->pids));
	if (c->pids == NULL) {
		sw_copies_close(c);
		return sw_fail_nomem(err);
	}
	int r = namespace_find(&setup, err);
	if (r == 0 && o->called != NULL)
		r = calls_open(c, o, &sizes, &setup, err);
	else if (r == 0)
		r = sw_iterate_sample_open(&sizes, &setup, &c->sample, err);
	if (r == 0)
		r = maps_map(c, bytes, err);
	if (r == 0 && c->by_calls)
		r = called_map(c, err);
	if (r < 0) {
		sw_copies_close(c);
		return r;
	}
	*ret = c;
	return 0;
}

void sw_copies_stop(struct sw_copies *c)
{
	if (c->called != NULL)
		__atomic_store_n(&c->called->ended, 1, __ATOMIC_SEQ_CST);
}

void sw_copies_end(struct sw_copies *c)
{
	if (c->by_calls)
		sw_iterate_calls_end(&c->calls);
}

void sw_copies_close(struct sw_copies *c)
{
	if (c == NULL)
		return;
	sw_copies_ring_unmap(&c->ring);
	if (c->counts != NULL)
		(void) munmap((void *) (uintptr_t) c->counts, c->counts_bytes); /* it was mapped */
	if (c->recipes != NULL)
		(void) munmap(c->recipes, c->recipes_bytes); /* likewise */
	if (c->known != NULL)
		(void) munmap(c->known, KNOWN_BYTES); /* likewise */
	if (c->called != NULL)
		(void) munmap(c->called, sizeof(*c->called)); /* likewise */
	if (c->by_calls)
		sw_iterate_calls_close(&c->calls);
	else
		sw_iterate_sample_close(&c->sample);
	free(c->pids);
	free(c);
}

/* n_processes: none is. */
static size_t number_of(const struct sw_copies *c, pid_t pid)
{
	size_t number = 0;
	while (number < c->n_processes && c->pids[number] != pid)
		number++;
	return number;
}

/* A copy that is made in between has steps of both, or none: what it has of them is memory of that instant. */
static void recipe_write(struct sw_sampled_recipe *to, const struct sw_sampled_recipe *from)
{
	uint32_t generation = to->generation + 1;
	__atomic_store_n(&to->n_steps, 0, __ATOMIC_SEQ_CST);
	memcpy(to->steps, from->steps, sizeof(to->steps));
	__atomic_store_n(&to->generation, generation, __ATOMIC_SEQ_CST);
	__atomic_store_n(&to->n_steps, from->n_steps, __ATOMIC_SEQ_CST);
}

/* The place that has that pid, 0 that of nobody. NULL: there is none. */
static struct sw_sampled_known *known_find(struct sw_copies *c, pid_t pid, uint32_t has)
{
	uint32_t at = sw_sampled_hash((uint32_t) pid);
	for (uint32_t i = 0; i < SW_SAMPLED_KNOWN_TRIES; i++) {
		struct sw_sampled_known *known = &c->known[(at + i) % SW_SAMPLED_KNOWN_MAX];
		if (known->pid == has)
			return known;
	}
	return NULL;
}

/* The kernel's program sees the pid last. */
static bool known_set(struct sw_copies *c, pid_t pid, uint32_t number)
{
	struct sw_sampled_known *known = known_find(c, pid, (uint32_t) pid);
	if (known == NULL)
		known = known_find(c, pid, 0);
	if (known == NULL)
		return false;
	__atomic_store_n(&known->number, number, __ATOMIC_SEQ_CST);
	__atomic_store_n(&known->pid, (uint32_t) pid, __ATOMIC_SEQ_CST);
	return true;
}

static void known_forget(struct sw_copies *c, pid_t pid)
{
	struct sw_sampled_known *known = known_find(c, pid, (uint32_t) pid);
	if (known != NULL)
		__atomic_store_n(&known->pid, 0, __ATOMIC_SEQ_CST);
}

/* From now on the kernel has that number for a process. */
static int number_tell(struct sw_copies *c, pid_t pid, uint32_t number, struct sw_error *err)
{
	if (c->known == NULL)
		return sw_iterate_sample_process(&c->sample, pid, number, err);
	return known_set(c, pid, number)
		       ? 0
		       : sw_fail(err, SW_E_LIMIT, "more processes than can be sampled at once");
}

int sw_copies_sample(struct sw_copies *c, pid_t pid, const struct sw_sampled_recipe *recipe,
		     struct sw_error *err)
{
	static const struct sw_sampled_recipe none = {0};
	if (recipe == NULL)
		recipe = &none;
	if (!sw_recipe_is_valid(recipe))
		return sw_fail(err, SW_E_INVALID, "a recipe for process %d is not valid",
			       (int) pid);
	size_t number = number_of(c, pid);
	bool known = number < c->n_processes;
	if (!known)
		number = number_of(c, 0);
	if (number == c->n_processes)
		return sw_fail(err, SW_E_LIMIT, "more processes than can be sampled at once");
	recipe_write(&c->recipes[number], recipe);
	int r = known ? 0 : number_tell(c, pid, (uint32_t) number, err);
	if (r == 0)
		c->pids[number] = pid;
	/* When its process is known there: no event is left out from then on. */
	return r == 0 && c->by_calls ? sw_iterate_calls_begin(&c->calls, err) : r;
}

void sw_copies_forget(struct sw_copies *c, pid_t pid)
{
	size_t number = number_of(c, pid);
	if (c->known != NULL)
		known_forget(c, pid);
	if (number == c->n_processes)
		return;
	if (c->known == NULL)
		sw_iterate_sample_forget(&c->sample, pid);
	c->pids[number] = 0;
}

void sw_copies_know(struct sw_copies *c, pid_t pid)
{
	sw_copies_forget(c, pid);
	(void) known_set(c, pid, 0); /* else each copy wakes the reader */
}

bool sw_copies_leave_out(struct sw_copies *c, pid_t pid)
{
	sw_copies_forget(c, pid);
	return known_set(c, pid, SW_SAMPLED_NOT);
}

uint32_t sw_copies_generation(const struct sw_copies *c, pid_t pid)
{
	size_t number = number_of(c, pid);
	return number < c->n_processes ? c->recipes[number].generation : 0;
}

int sw_copies_attach(const struct sw_copies *c, int event_fd)
{
	return ioctl(event_fd, PERF_EVENT_IOC_SET_BPF, c->sample.program_fd) < 0 ? -errno : 0;
}

int sw_copies_program(const struct sw_copies *c, size_t number)
{
	return c->by_calls && number < SW_ITERATE_LINKS_MAX ? c->calls.program_fds[number] : -EBADF;
}

long sw_copies_held(const struct sw_copies *c, struct sw_iterate_held_pass *pass)
{
	return c->by_calls ? sw_iterate_held_next(&c->calls, pass) : -EBADF;
}

bool sw_copies_next(struct sw_copies *c, struct sw_copy *ret)
{
	const uint8_t *bytes;
	size_t size;
	sw_copies_ring_give_back(&c->ring);
	while (sw_copies_ring_next(&c->ring, &bytes, &size))
		if (sw_copy_parse(bytes, size, c->parts, ret))
			return true;
	sw_copies_ring_give_back(&c->ring);
	return false;
}

bool sw_copies_peek(const struct sw_copies *c, uint64_t *at, struct sw_sampled_head *ret)
{
	const uint8_t *bytes;
	size_t size;
	while (sw_copies_ring_peek(&c->ring, at, &bytes, &size)) {
		if (size < sizeof(*ret))
			continue;
		memcpy(ret, bytes, sizeof(*ret));
		return true;
	}
	return false;
}

int sw_copies_fd(const struct sw_copies *c)
{
	return c->sample.ring_fd;
}

bool sw_copies_has_more(const struct sw_copies *c)
{
	return sw_copies_ring_has_more(&c->ring);
}

struct sw_copies_counts sw_copies_counts(const struct sw_copies *c)
{
	struct sw_copies_counts sum = {0};
	for (size_t i = 0; i < c->n_cpus; i++) {
		sum.n_taken += __atomic_load_n(&c->counts[i].n_taken, __ATOMIC_RELAXED);
		sum.n_no_space += __atomic_load_n(&c->counts[i].n_no_space, __ATOMIC_RELAXED);
		sum.n_nested += __atomic_load_n(&c->counts[i].n_nested, __ATOMIC_RELAXED);
		sum.n_probed += __atomic_load_n(&c->counts[i].n_probed, __ATOMIC_RELAXED);
		sum.n_left_out += __atomic_load_n(&c->counts[i].n_left_out, __ATOMIC_RELAXED);
		sum.n_not_held += __atomic_load_n(&c->counts[i].n_not_held, __ATOMIC_RELAXED);
		sum.n_unsure += __atomic_load_n(&c->counts[i].n_unsure, __ATOMIC_RELAXED);
		sum.n_unknown += __atomic_load_n(&c->counts[i].n_unknown, __ATOMIC_RELAXED);
		sum.n_none += __atomic_load_n(&c->counts[i].n_none, __ATOMIC_RELAXED);
		for (size_t k = 0; k < SW_ARRAY_SIZE(sum.n_begun); k++)
			sum.n_begun[k] +=
				__atomic_load_n(&c->counts[i].n_begun[k], __ATOMIC_RELAXED);
		sum.n_timed += __atomic_load_n(&c->counts[i].n_timed, __ATOMIC_RELAXED);
		sum.ns += __atomic_load_n(&c->counts[i].ns, __ATOMIC_RELAXED);
	}
	return sum;
}
