/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "capture/touch.h"
#include "copier/reader.h"
#include "priority.h"
#include "snapshot/snapshot.h"

#include <snapwalk/clock.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum {
	/* Nothing is stopped: */
	REHEARSAL_MS = 2000,
	BETWEEN_MS = 20, /* between two windows */
	FINISH_MS = 1000,
	AHEAD = 128, /* pages of the pool that are made there together */
	SMALL = 48,  /* pages that a small program's rehearsal reads */
	MISSES = 8,  /* pages that a window often reads besides those that are foreseen */
	NS_PER_MS = 1000000,
};

static bool is_needed(const struct sw_capture_space *space)
{
	for (size_t i = 0; i < space->n_hooks; i++)
		if (space->hooks[i].touch != NULL && *space->hooks[i].found != NULL)
			return true;
	return false;
}

/* In the reader. The snapshot is the one that was there when the reader was forked: maps, modules, what before() found. */
static void readers_run(void *arg, struct sw_memory memory, const struct sw_copier_channel *told)
{
	struct sw_capture_space *space = arg;
	struct sw_snapshot *snap = space->snap;
	for (size_t i = 0; i < told->n_threads; i++) {
		const struct sw_copier_thread *from = &told->threads[i];
		struct sw_thread *t = &snap->threads[i];
		t->tid = from->tid;
		t->captured = from->captured;
		t->fs_base = from->fs_base;
		t->gs_base = from->gs_base;
		t->regs = from->regs;
		t->syscall = from->syscall;
	}
	snap->n_threads = told->n_threads;
	snap->priv->hooks_whole = told->whole;
	for (size_t i = 0; i < space->n_hooks; i++) {
		const struct sw_hook *hook = &space->hooks[i];
		if (hook->touch != NULL && *hook->found != NULL)
			hook->touch(snap, *hook->found, memory);
	}
}

/* Copies what the window will write to, as the reader shares it since the fork. Refused: the window does it. */
static void own(void *data, size_t bytes)
{
	enum { POPULATE_WRITE = 23 }; /* MADV_POPULATE_WRITE, Linux 5.14; not in older headers */
	uintptr_t begin = (uintptr_t) data & -(uintptr_t) SW_CAPTURE_PAGE;
	(void) madvise((void *) begin, (uintptr_t) data + bytes - begin, POPULATE_WRITE);
}

/* A part of the pool, up to a place: many pages at once cost less than one by one, for the reader, too. */
static void pool_own(struct sw_capture_space *space, size_t end)
{
	struct sw_copier_channel *c = space->copier.channel;
	if (end > sizeof(c->pool))
		end = sizeof(c->pool);
	if (end <= space->pool_owned)
		return;
	own(c->pool + space->pool_owned, end - space->pool_owned);
	space->pool_owned = end;
}

static void read_live(void *arg, struct sw_copier_read *reads, size_t n)
{
	struct sw_capture_space *space = arg;
	/* Places are in the order of the reads. */
	size_t end =
		(size_t) (reads[n - 1].buffer - space->copier.channel->pool) + reads[n - 1].bytes;
	if (end > space->pool_owned)
		pool_own(space, end + AHEAD * SW_COPIER_PAGE_BYTES);
	for (size_t i = 0; i < n; i++)
		reads[i].ok = sw_memory_read(space->capture.memory, reads[i].avma, reads[i].buffer,
					     reads[i].bytes);
}

/* The window does not foresee what the reader does not list in time. */
static void rehearse(struct sw_capture_space *space)
{
	const struct sw_copier_source source = {.read = read_live, .arg = space};
	struct sw_copier_channel *channel = space->copier.channel;
	size_t n = space->snap->n_threads;
	channel->n_threads =
		(uint32_t) (n < space->copier.threads_max ? n : space->copier.threads_max);
	for (size_t i = 0; i < channel->n_threads; i++)
		channel->threads[i] = (struct sw_copier_thread){.tid = space->snap->threads[i].tid,
								.syscall = -1};
	channel->rehearses = 1;
	space->touched = sw_copier_run(&space->copier, &source,
				       sw_clock_ns() + REHEARSAL_MS * (int64_t) NS_PER_MS);
	channel->rehearses = 0;
	if (!space->copier.lost && !space->copier.pending)
		sw_copier_foresee(&space->copier);
}

void sw_capture_touch_begin(struct sw_capture_space *space)
{
	struct sw_error err = {0};
	if (!is_needed(space))
		return;
	const struct sw_copier_job job = {.run = readers_run,
					  .arg = space,
					  .is_32bit = space->snap->process.elf_class == 32};
	struct sw_snapshot_priv *priv = space->snap->priv;
	/* The reader does not need it, and each of its pages would be copied when the window writes to it. */
	(void) madvise(priv->pool, priv->pool_bytes, MADV_DONTFORK);
	int r = sw_copier_create(&job, space->stop->capacity, &space->copier, &err);
	(void) madvise(priv->pool, priv->pool_bytes, MADV_DOFORK);
	if (r < 0) {
		sw_snapshot_warn(space->snap, SW_WARN_CAPTURE, 0, -r,
				 "the data of runtimes is not copied: %s", err.message);
		return;
	}
	space->copier.channel->cpu = sched_getcpu(); /* -1: any */
	pool_own(space, SMALL * SW_COPIER_PAGE_BYTES);
	rehearse(space);
	pool_own(space, (space->copier.n_foreseen + MISSES) * SW_COPIER_PAGE_BYTES);
	/* Without notes and again, which are not used where there is a runtime: capture/same.h. */
	own(space, offsetof(struct sw_capture_space, notes));
	own(space->remote, sizeof(*space) - offsetof(struct sw_capture_space, remote));
	own(space->parts, space->snap->n_threads * sizeof(*space->parts));
	own(space->snap->threads, space->snap->n_threads * sizeof(*space->snap->threads));
	own(space->stop->tracees, space->snap->n_threads * sizeof(*space->stop->tracees));
}

/* In the process that copies, which shares nothing but memory with us. Refused: each turn of the reader takes longer. */
static void cpu_job(void *arg)
{
	const struct sw_capture_space *space = arg;
	int cpu = space->copier.channel->cpu;
	cpu_set_t set;
	if (cpu < 0 || cpu >= CPU_SETSIZE)
		return;
	CPU_ZERO(&set);
	CPU_SET((unsigned) cpu, &set);
	(void) sched_setaffinity(0, sizeof(set), &set);
}

/*
 * Both on one CPU: whoever gives the turn away leaves its CPU to the other one. The reader has real-time priority only
 * where the copier has a higher one: it could keep the copier from letting the target go. Neither of them makes processes,
 * which would inherit it.
 */
void sw_capture_touch_ready(struct sw_capture_space *space)
{
	bool reads = space->copier.channel != NULL && !space->copier.lost && !space->copier.pending;
	if (space->reader == NULL) /* the helper copies, with the lowest priority */
		return;
	space->raised_above =
		space->stop->realtime && reads && sw_expendable_raise_above(space->reader);
	if (space->raised_above)
		(void) sw_priority_raise(space->copier.pid); /* refused: it takes longer */
	else if (space->stop->realtime)
		sw_expendable_raise(space->reader);
	if (reads) /* or it is lost: the window says so */
		(void) sw_expendable_run(space->reader, cpu_job, space,
					 sw_clock_ns() + FINISH_MS * (int64_t) NS_PER_MS);
}

/* Whether something of [*at, *at + bytes) of the pool was read; *at then is where it begins, *ret_end where it ends. */
static bool run_find(const struct sw_copier_channel *c, size_t *at, size_t end, size_t *ret_end)
{
	size_t granule = *at / SW_COPIER_GRANULE_BYTES, last;
	const size_t n = (end + SW_COPIER_GRANULE_BYTES - 1) / SW_COPIER_GRANULE_BYTES;
	while (granule < n && !(c->read[granule / 64] >> granule % 64 & 1))
		granule++;
	if (granule == n)
		return false;
	if (granule * SW_COPIER_GRANULE_BYTES > *at)
		*at = granule * SW_COPIER_GRANULE_BYTES;
	for (last = granule + 1; last < n && (c->read[last / 64] >> last % 64 & 1);)
		last++;
	*ret_end = last < n ? last * SW_COPIER_GRANULE_BYTES : end;
	return true;
}

static bool is_of_pool(const struct sw_copier_channel *c, const struct sw_range *r)
{
	return r->data >= c->pool && r->data < c->pool + sizeof(c->pool);
}

/* No memory to trim them: the snapshot does without. */
static void ranges_drop(struct sw_capture_space *space)
{
	struct sw_snapshot *snap = space->snap;
	size_t n = snap->n_ranges;
	snap->n_ranges = 0;
	for (size_t i = 0; i < n; i++)
		if (!is_of_pool(space->copier.channel, &snap->ranges[i]))
			snap->ranges[snap->n_ranges++] = snap->ranges[i];
}

/*
 * Pages were fetched, of which the readers need some words: the snapshot keeps these, not what else of the process lies
 * beside them.
 */
static void ranges_trim(struct sw_capture_space *space)
{
	struct sw_copier_channel *c = space->copier.channel;
	struct sw_snapshot *snap = space->snap;
	size_t n = snap->n_ranges, k = 0;
	struct sw_range *whole =
		n > 0 ? sw_arena_alloc(&snap->priv->arena, n * sizeof(*whole)) : NULL;
	/* The reader has not come to its end: what the rehearsal has read stays, too. */
	for (size_t i = 0; space->copier.missed && i < space->copier.n_foreseen; i++)
		c->read[i] |= space->copier.foreseen[i].read;
	if (whole == NULL) {
		ranges_drop(space);
		return;
	}
	memcpy(whole, snap->ranges, n * sizeof(*whole));
	for (size_t i = 0; i < n; i++) {
		const struct sw_range *r = &whole[i];
		size_t off = (size_t) (r->data - c->pool), at = off, end = off + r->bytes, run_end;
		bool of_pool = is_of_pool(c, r);
		if (!of_pool) /* another hook's */
			snap->ranges[k++] = *r;
		for (; of_pool && run_find(c, &at, end, &run_end); at = run_end) {
			/* The others need a place each. */
			if (k + (n - i) >= space->copies_max)
				run_end = end;
			snap->ranges[k++] = (struct sw_range){r->start_avma + (at - off),
							      run_end - at, r->data + (at - off)};
		}
	}
	snap->n_ranges = k;
}

static void await(struct sw_capture_space *space, int64_t ms)
{
	(void) sw_copier_finish(&space->copier,
				sw_clock_ns() + ms * NS_PER_MS); /* or it is told below */
}

void sw_capture_touch_between(struct sw_capture_space *space)
{
	if (space->copier.channel != NULL)
		await(space, BETWEEN_MS);
}

void sw_capture_touch_end(struct sw_capture_space *space)
{
	if (space->copier.channel == NULL)
		return;
	await(space, FINISH_MS);
	bool died = space->copier.lost;
	space->snap->priv->hooks_cut = space->touched == SW_COPIER_LIMIT;
	space->copier.missed |= space->copier.lost || space->copier.pending;
	sw_copier_end(&space->copier);
	ranges_trim(space);
	/* The ranges of the snapshot lie in it. */
	space->snap->priv->copier_pool = space->copier.channel;
	space->snap->priv->copier_pool_bytes = space->copier.channel_bytes;
	space->copier.channel = NULL;
	sw_copier_destroy(&space->copier);
	space->snap->priv->hooks_cut |= space->copier.missed;
	if (!space->copier.missed)
		return;
	char how[96] = "did not answer in time";
	if (died && space->copier.signal == SIGSYS && space->copier.refused >= 0)
		(void) snprintf(how, sizeof(how),
				"was ended by the sandbox, which does not permit system call %d",
				space->copier.refused); /* fits */
	else if (died && space->copier.signal == SIGSYS)
		/* The kernel has the number in its log alone. */
		(void) snprintf(how, sizeof(how), "was killed by signal %d (Bad system call)",
				SIGSYS); /* fits */
	else if (died)
		(void) snprintf(how, sizeof(how), "ended"); /* fits */
	sw_snapshot_warn(
		space->snap, SW_WARN_CAPTURE, 0, died ? SW_E_IO : SW_E_STOP_TIMEOUT,
		"the process that reads the data of runtimes %s: what it had not asked for "
		"by then is missing",
		how);
}
