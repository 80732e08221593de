/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "capture/touch.h"
#include "copier/reader.h"
#include "snapshot/snapshot.h"

#include <snapwalk/clock.h>
#include <string.h>
#include <sys/mman.h>

enum { REHEARSAL_MS = 200, NS_PER_MS = 1000000 };

static bool is_needed(const struct sw_capture_space *space)
{
	for (size_t i = 0; i < space->n_hooks; i++)
		if (space->hooks[i].touch != NULL && *space->hooks[i].found != NULL)
			return true;
	return false;
}

/* In the reader. The snapshot is the one that was there when the reader was forked: maps, modules, what before() found. */
static void readers_run(void *arg, struct sw_memory memory, const struct sw_copier_thread *threads,
			size_t n_threads)
{
	struct sw_capture_space *space = arg;
	struct sw_snapshot *snap = space->snap;
	for (size_t i = 0; i < n_threads; i++) {
		struct sw_thread *t = &snap->threads[i];
		t->tid = threads[i].tid;
		t->captured = threads[i].captured;
		t->fs_base = threads[i].fs_base;
		t->gs_base = threads[i].gs_base;
		t->regs = threads[i].regs;
	}
	snap->n_threads = n_threads;
	for (size_t i = 0; i < space->n_hooks; i++) {
		const struct sw_hook *hook = &space->hooks[i];
		if (hook->touch != NULL && *hook->found != NULL)
			hook->touch(snap, *hook->found, memory);
	}
}

static void read_live(void *arg, struct sw_copier_read *reads, size_t n)
{
	const struct sw_capture_space *space = arg;
	for (size_t i = 0; i < n; i++)
		reads[i].ok = sw_memory_read(space->capture.memory, reads[i].avma, reads[i].buffer,
					     reads[i].bytes);
}

/* What the reader does not say in time, or cannot, the window will not have. */
static void rehearse(struct sw_capture_space *space)
{
	const struct sw_copier_source source = {.read = read_live, .arg = space};
	struct sw_copier_channel *channel = space->copier.channel;
	size_t n = space->snap->n_threads;
	channel->n_threads =
		(uint32_t) (n < space->copier.threads_max ? n : space->copier.threads_max);
	for (size_t i = 0; i < channel->n_threads; i++)
		channel->threads[i] = (struct sw_copier_thread){.tid = space->snap->threads[i].tid};
	space->touched = sw_copier_run(&space->copier, &source,
				       sw_clock_ns() + REHEARSAL_MS * (int64_t) NS_PER_MS);
}

/* Copies what the window will write to, as the reader shares it since the fork. Refused: the window does it. */
static void own(void *data, size_t bytes)
{
	enum { POPULATE_WRITE = 23 }; /* MADV_POPULATE_WRITE, Linux 5.14; not in older headers */
	uintptr_t begin = (uintptr_t) data & -(uintptr_t) SW_CAPTURE_PAGE;
	(void) madvise((void *) begin, (uintptr_t) data + bytes - begin, POPULATE_WRITE);
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
	rehearse(space);
	own(space, sizeof(*space));
	own(space->parts, space->snap->n_threads * sizeof(*space->parts));
	own(space->snap->threads, space->snap->n_threads * sizeof(*space->snap->threads));
	own(space->stop->tracees, space->snap->n_threads * sizeof(*space->stop->tracees));
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

/*
 * Pages were fetched, of which the readers need some words: the snapshot keeps these, not what else of the process lies
 * beside them.
 */
static void ranges_trim(struct sw_capture_space *space)
{
	const struct sw_copier_channel *c = space->copier.channel;
	struct sw_snapshot *snap = space->snap;
	size_t n = snap->n_ranges, k = 0;
	struct sw_range *whole =
		n > 0 ? sw_arena_alloc(&snap->priv->arena, n * sizeof(*whole)) : NULL;
	if (whole == NULL)
		return;
	memcpy(whole, snap->ranges, n * sizeof(*whole));
	for (size_t i = 0; i < n; i++) {
		const struct sw_range *r = &whole[i];
		size_t off = (size_t) (r->data - c->pool), at = off, end = off + r->bytes, run_end;
		bool of_pool = r->data >= c->pool && r->data < c->pool + sizeof(c->pool);
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

void sw_capture_touch_end(struct sw_capture_space *space)
{
	if (space->copier.channel == NULL)
		return;
	bool died = space->touched == SW_COPIER_DIED, lost = space->copier.lost;
	sw_copier_end(&space->copier);
	if (!lost)
		ranges_trim(space);
	/* The ranges of the snapshot lie in it. */
	space->snap->priv->copier_pool = space->copier.channel;
	space->snap->priv->copier_pool_bytes = space->copier.channel_bytes;
	space->copier.channel = NULL;
	if (lost)
		sw_snapshot_warn(space->snap, SW_WARN_CAPTURE, 0,
				 died ? SW_E_IO : SW_E_STOP_TIMEOUT,
				 "the process that reads the data of runtimes %s: what it had not "
				 "asked for by then is "
				 "missing",
				 died ? "ended" : "did not answer in time");
}
