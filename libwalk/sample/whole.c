/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A snapshot as bytes, from one process of a program to another that was forked from it: structures are as they are
 * in memory, but for their pointers; those to constants of the program stay as they are.
 */
#include "bytes.h"
#include "cleanup.h"
#include "errors.h"
#include "sample/borrowed.h"
#include "sample/light.h"
#include "snapshot/snapshot.h"
#include "walk/tables.h"

#include <snapwalk/sampler.h>
#include <fcntl.h>
#include <string.h>

enum {
	PARTS_MAX = 1 << 20, /* threads, maps, ranges, warnings: of each */
	FRAMES_MAX = 1024,   /* of a kernel stack */
};

struct head {
	struct sw_process process;
	struct sw_times times;
	int64_t time_ns;
	size_t n_threads, n_maps, n_ranges, n_warnings;
	size_t interrupted_calls, n_stopped;
	bool realtime_refused, hooks_torn;
};

/* Things of each thread, beside itself. */
struct beside {
	bool waits, with_target; /* for whom: struct sw_wait_for, and its text */
	uint32_t kernel;         /* frames; 0: none, or those of the thread before it */
	bool as_before;
};

/* ---- what may be handed over ------------------------------------------------------------------- */

static uint64_t add(uint64_t hash, uint64_t value)
{
	for (int i = 0; i < 64; i += 8)
		hash = (hash ^ ((value >> i) & 0xff)) * UINT64_C(0x100000001b3);
	return hash;
}

uint64_t sw_snapshot_native_code(const struct sw_snapshot *snap)
{
	const struct sw_pages *pages = &snap->priv->pages;
	uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a, 64 bits */
	/* Memory that may not come is read by a process that only we have. */
	if (!snap->live || pages->stalled || pages->left_behind || pages->swapped ||
	    pages->n_slow > 0 || !sw_light_is_possible(snap, &sw_tables))
		return 0;
	for (size_t i = 0; i < snap->n_maps; i++) {
		const struct sw_map *m = &snap->maps[i];
		if (m->place < 0 && !(m->prot & SW_MAP_EXEC))
			continue;
		/* Not only where: a file that was written anew, or is gone by now, is another one. */
		const struct sw_module *module = m->place >= 0 && (size_t) m->place < snap->n_places
							 ? snap->places[m->place].module
							 : NULL;
		const uint64_t parts[] = {m->start_avma,
					  m->end_avma,
					  m->file_off,
					  m->inode,
					  (uint64_t) m->dev_major << 32 | m->dev_minor,
					  (uint64_t) m->prot << 32 | (uint32_t) m->place,
					  (uintptr_t) module, /* of one context: it is known once */
					  module != NULL && sw_module_deleted(module)};
		for (size_t k = 0; k < SW_ARRAY_SIZE(parts); k++)
			hash = add(hash, parts[k]);
	}
	return hash != 0 ? hash : 1;
}

/* ---- pack -------------------------------------------------------------------------------------- */

struct out {
	uint8_t *bytes;
	size_t n, max; /* n beyond max: it does not fit, and what is there is of no use */
};

static void put(struct out *out, const void *from, size_t size)
{
	if (out->n <= out->max && size > 0 && size <= out->max - out->n)
		memcpy(out->bytes + out->n, from, size);
	out->n += size;
}

static void put_string(struct out *out, const char *s)
{
	put(out, s, strlen(s) + 1);
}

static void thread_put(struct out *out, const struct sw_thread *t, const struct sw_thread *before)
{
	struct sw_thread bare = *t;
	const struct sw_wait_for *wait = t->wait_for;
	const struct sw_kernel_stack *kernel = t->kernel;
	const bool as_before = kernel != NULL && before != NULL && before->kernel == kernel;
	const struct beside beside = {.waits = wait != NULL,
				      .with_target = wait != NULL && wait->target != NULL,
				      .kernel = kernel != NULL && !as_before
							? (uint32_t) kernel->n_frames
							: 0,
				      .as_before = as_before};
	bare.stack = NULL;
	bare.wait_for = NULL;
	bare.kernel = NULL;
	put(out, &bare, sizeof(bare));
	put(out, &beside, sizeof(beside));
	put(out, t->stack, t->stack_bytes);
	if (beside.waits) {
		struct sw_wait_for w = *wait; /* kind is a constant */
		w.target = NULL;
		put(out, &w, sizeof(w));
	}
	if (beside.with_target)
		put_string(out, wait->target);
	for (size_t i = 0; i < beside.kernel; i++) {
		put(out, &kernel->frames[i].offset, sizeof(kernel->frames[i].offset));
		put_string(out, kernel->frames[i].function);
	}
}

static void snapshot_put(struct out *out, const struct sw_snapshot *snap)
{
	struct head head = {.process = snap->process,
			    .times = snap->times,
			    .time_ns = snap->time_ns,
			    .n_threads = snap->n_threads,
			    .n_maps = snap->n_maps,
			    .n_ranges = snap->n_ranges,
			    .n_warnings = snap->n_warnings,
			    .interrupted_calls = snap->interrupted_calls,
			    .n_stopped = snap->n_stopped,
			    .realtime_refused = snap->realtime_refused,
			    .hooks_torn = snap->priv->hooks_torn};
	head.process.exe = head.process.cgroup = NULL;
	put(out, &head, sizeof(head));
	put_string(out, snap->process.exe);
	put_string(out, snap->process.cgroup);
	put_string(out, snap->stopped_why);
	for (size_t i = 0; i < snap->n_threads; i++)
		thread_put(out, &snap->threads[i], i > 0 ? &snap->threads[i - 1] : NULL);
	for (size_t i = 0; i < snap->n_maps; i++) {
		struct sw_map map = snap->maps[i];
		map.path = NULL;
		put(out, &map, sizeof(map));
		put_string(out, snap->maps[i].path);
	}
	for (size_t i = 0; i < snap->n_ranges; i++) {
		struct sw_range range = snap->ranges[i];
		range.data = NULL;
		put(out, &range, sizeof(range));
		put(out, snap->ranges[i].data, range.bytes);
	}
	for (size_t i = 0; i < snap->n_warnings; i++) {
		struct sw_warning warning = snap->warnings[i];
		warning.message = NULL;
		put(out, &warning, sizeof(warning));
		put_string(out, snap->warnings[i].message);
	}
}

int sw_snapshot_pack(const struct sw_snapshot *snap, void *to, size_t max, size_t *ret_size,
		     struct sw_error *err)
{
	struct out out = {.bytes = to, .max = max};
	if (snap->n_peers > 0)
		return sw_fail(err, SW_E_INVALID, "a snapshot with other processes");
	snapshot_put(&out, snap);
	if (out.n > max)
		return sw_fail(err, SW_E_LIMIT, "a snapshot of %zu bytes", out.n);
	*ret_size = out.n;
	return 0;
}

/* ---- unpack ------------------------------------------------------------------------------------ */

struct rest {
	const uint8_t *at;
	size_t left;
};

/* NULL: there are not so many left. */
static const uint8_t *take(struct rest *rest, size_t size)
{
	const uint8_t *at = rest->at;
	if (size > rest->left)
		return NULL;
	rest->at += size;
	rest->left -= size;
	return at;
}

/* Copied: what is in the bytes need not be aligned. */
static bool take_to(struct rest *rest, void *to, size_t size)
{
	const uint8_t *from = take(rest, size);
	if (from != NULL)
		memcpy(to, from, size);
	return from != NULL;
}

static const char *take_string(struct rest *rest)
{
	const uint8_t *end = rest->left > 0 ? memchr(rest->at, '\0', rest->left) : NULL;
	return end != NULL ? (const char *) take(rest, (size_t) (end - rest->at) + 1) : NULL;
}

static bool array_create(struct sw_snapshot *snap, void *array, size_t n, size_t size)
{
	void **to = array;
	*to = n <= PARTS_MAX ? sw_arena_calloc(&snap->priv->arena, n + 1, size) : NULL;
	return *to != NULL;
}

static bool kernel_take(struct sw_snapshot *snap, struct rest *rest, size_t n,
			const struct sw_kernel_stack **ret)
{
	struct sw_kernel_stack *stack = NULL;
	struct sw_kernel_frame *frames = NULL;
	if (n > FRAMES_MAX || !array_create(snap, &stack, 1, sizeof(*stack)) ||
	    !array_create(snap, &frames, n, sizeof(*frames)))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!take_to(rest, &frames[i].offset, sizeof(frames[i].offset)))
			return false;
		frames[i].function = take_string(rest);
		if (frames[i].function == NULL)
			return false;
	}
	*stack = (struct sw_kernel_stack){frames, n};
	*ret = stack;
	return true;
}

static bool thread_take(struct sw_snapshot *snap, struct rest *rest, size_t i)
{
	struct sw_thread *t = &snap->threads[i];
	struct beside beside;
	struct sw_wait_for *wait = NULL;
	if (!take_to(rest, t, sizeof(*t)) || !take_to(rest, &beside, sizeof(beside)))
		return false;
	t->stack = take(rest, t->stack_bytes);
	if (t->stack == NULL)
		return false;
	if (beside.waits &&
	    (!array_create(snap, &wait, 1, sizeof(*wait)) || !take_to(rest, wait, sizeof(*wait))))
		return false;
	if (wait != NULL && beside.with_target) {
		wait->target = take_string(rest);
		if (wait->target == NULL)
			return false;
	}
	t->wait_for = wait;
	if (beside.as_before)
		t->kernel = i > 0 ? snap->threads[i - 1].kernel : NULL;
	return beside.kernel == 0 || kernel_take(snap, rest, beside.kernel, &t->kernel);
}

static bool maps_take(struct sw_snapshot *snap, struct rest *rest, size_t n)
{
	if (!array_create(snap, &snap->maps, n, sizeof(*snap->maps)))
		return false;
	snap->n_maps = n;
	for (size_t i = 0; i < n; i++) {
		struct sw_map *map = &snap->maps[i];
		if (!take_to(rest, map, sizeof(*map)))
			return false;
		map->path = take_string(rest);
		if (map->path == NULL || map->place >= (int64_t) snap->n_places)
			return false;
	}
	return true;
}

static bool ranges_take(struct sw_snapshot *snap, struct rest *rest, size_t n)
{
	if (!array_create(snap, &snap->ranges, n, sizeof(*snap->ranges)))
		return false;
	snap->n_ranges = n;
	for (size_t i = 0; i < n; i++) {
		struct sw_range *range = &snap->ranges[i];
		if (!take_to(rest, range, sizeof(*range)))
			return false;
		range->data = take(rest, range->bytes);
		if (range->data == NULL)
			return false;
	}
	return true;
}

static bool warnings_take(struct sw_snapshot *snap, struct rest *rest, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct sw_warning warning;
		const char *message = NULL;
		if (!take_to(rest, &warning, sizeof(warning)) ||
		    (message = take_string(rest)) == NULL)
			return false;
		sw_snapshot_warn(snap, warning.code, warning.tid, warning.reason, "%s", message);
	}
	return true;
}

static bool snapshot_take(struct sw_snapshot *snap, struct rest *rest)
{
	struct head head;
	const char *exe, *cgroup, *refused;
	if (!take_to(rest, &head, sizeof(head)) || (exe = take_string(rest)) == NULL ||
	    (cgroup = take_string(rest)) == NULL || (refused = take_string(rest)) == NULL)
		return false;
	snap->process = head.process;
	snap->process.exe = exe;
	snap->process.cgroup = cgroup;
	snap->stopped_why = refused;
	snap->times = head.times;
	snap->time_ns = head.time_ns;
	snap->interrupted_calls = head.interrupted_calls;
	snap->n_stopped = head.n_stopped;
	snap->realtime_refused = head.realtime_refused;
	snap->priv->hooks_torn = head.hooks_torn;
	if (!array_create(snap, &snap->threads, head.n_threads, sizeof(*snap->threads)))
		return false;
	for (size_t i = 0; i < head.n_threads; i++)
		if (!thread_take(snap, rest, i))
			return false;
	snap->n_threads = head.n_threads;
	return maps_take(snap, rest, head.n_maps) && ranges_take(snap, rest, head.n_ranges) &&
	       warnings_take(snap, rest, head.n_warnings) && rest->left == 0;
}

int sw_snapshot_unpack(const struct sw_snapshot *base, const void *bytes, size_t size,
		       struct sw_snapshot **ret, struct sw_error *err)
{
	struct rest rest = {.at = bytes, .left = size};
	struct sw_snapshot *snap;
	int r = sw_borrowed_create(base, &snap, err);
	if (r < 0)
		return r;
	snap->priv->borrowed = true;
	if (!snapshot_take(snap, &rest)) {
		sw_snapshot_destroy(snap);
		return sw_fail(err, SW_E_FORMAT, "a snapshot is not what was packed");
	}
	/* Memory that was not copied is read from the process, as of a snapshot of our own. */
	if (base->priv->mem_fd >= 0)
		snap->priv->mem_fd = fcntl(base->priv->mem_fd, F_DUPFD_CLOEXEC, 0);
	snap->priv->live_dead = snap->priv->mem_fd < 0;
	sw_snapshot_index_threads(snap);
	*ret = snap;
	return 0;
}
