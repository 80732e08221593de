/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The space for what is copied in a stop, while the target runs: made before, handed over after. What
 * happens in between is in capture/stacks.c and capture/copy.c.
 */
#include "capture/space.h"
#include "capture/copy.h"
#include "capture/stacks.h"
#include "capture/touch.h"
#include "cleanup.h"
#include "errors.h"
#include "snapshot/snapshot.h"
#include "process/credentials.h"
#include "process/guarded.h"
#include "process/proc.h"
#include "snapshot/live.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

enum {
	POOL_MIN_BYTES = 1 << 20,
	STATUS_BYTES = 16 << 10,
	HUGE_MIN_BYTES = 2 << 20, /* used of the pool, from where on it is made of larger pages */
};

/* ---- before the stop ---------------------------------------------------------------------- */

/* Makes the first bytes of the pool real: a page fault in the stop costs more than the copy. */
static void prefault(uint8_t *pool, size_t bytes)
{
	enum { POPULATE_WRITE = 23 }; /* MADV_POPULATE_WRITE, Linux 5.14; not in older headers */
	/* A thousand pages cost several times what two large ones do: to make, to fill, to give back.
	 * Fails where the kernel has none. */
	if (bytes >= HUGE_MIN_BYTES)
		(void) madvise(pool, bytes, MADV_HUGEPAGE);
	if (madvise(pool, bytes, POPULATE_WRITE) == 0)
		return;
	for (size_t i = 0; i < bytes; i += SW_CAPTURE_PAGE)
		((volatile uint8_t *) pool)[i] = 0;
}

/* The kernel puts memory that is made of whole larger pages where these can be used from its beginning on: Linux 6.7,
 * mm/mmap.c. Else it is chance how many of its pages are small ones. */
static size_t pool_up(size_t bytes)
{
	const size_t huge = HUGE_MIN_BYTES;
	return bytes < huge ? sw_capture_page_up(bytes) : (bytes + huge - 1) & -huge;
}

/* kept: of it, for hooks. */
static int pool_create(struct sw_capture_space *space, size_t bytes, size_t kept,
		       struct sw_error *err)
{
	struct sw_snapshot_priv *priv = space->snap->priv;
	for (bytes = pool_up(bytes);; bytes = pool_up(bytes / 2)) {
		void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (p != MAP_FAILED) {
			priv->pool = p;
			break;
		}
		/* A limit on address space, or strict overcommit: less will do for most. */
		if (bytes <= POOL_MIN_BYTES)
			return sw_fail_nomem(err);
	}
	priv->pool_bytes = bytes;
	space->size = bytes;
	space->kept = bytes / 4 < kept ? bytes / 4 : kept;
	return 0;
}

void sw_capture_space_warm(struct sw_capture_space *space, size_t n_threads)
{
	size_t warm = space->likely != 0 ? space->likely : n_threads * SW_CAPTURE_PREFAULT_BYTES;
	space->warm = warm < space->size ? warm : space->size;
	prefault(space->snap->priv->pool, space->warm);
}

static void expect(struct sw_capture *capture, size_t bytes)
{
	struct sw_capture_space *space = capture->arg;
	size_t from = space->warm & ~(size_t) (SW_CAPTURE_PAGE - 1);
	bytes = bytes < space->size - from ? sw_capture_page_up(bytes) : space->size - from;
	if (bytes > space->size - from)
		bytes = space->size - from;
	prefault(space->snap->priv->pool + from, bytes);
	space->warm = from + bytes;
}

int sw_capture_space_create(struct sw_snapshot *snap, struct sw_stop *stop,
			    const struct sw_snapshot_options *options, size_t n_threads,
			    struct sw_capture_space **ret, struct sw_error *err)
{
	struct sw_arena *arena = &snap->priv->arena;
	struct sw_capture_space *space = sw_arena_calloc(arena, 1, sizeof(*space));
	if (space == NULL)
		return sw_fail_nomem(err);
	space->snap = snap;
	space->stop = stop;
	space->stack_bytes = options->stack_bytes;
	space->total_bytes = options->total_bytes;
	space->copies_max = SW_CAPTURE_RANGES;
	if (options->goroutines || options->tasks)
		space->copies_max += SW_CAPTURE_GOROUTINES_RANGES;
	/* Each thread has three parts of its stack, a lock and a context. */
	space->parts_max = (5 + SW_CAPTURE_STACKS) * stop->capacity + SW_CAPTURE_RANGES;
	space->parts = sw_arena_alloc(arena, space->parts_max * sizeof(*space->parts));
	space->ranges_max =
		(1 + SW_CAPTURE_STACKS) * stop->capacity + SW_CAPTURE_RANGES + space->copies_max;
	snap->ranges = sw_arena_alloc(arena, space->ranges_max * sizeof(*snap->ranges));
	if (space->parts == NULL || snap->ranges == NULL)
		return sw_fail_nomem(err);
	size_t bytes, kept = SW_CAPTURE_SPACE_BYTES;
	if (options->goroutines || options->tasks)
		kept += SW_CAPTURE_GOROUTINES_BYTES;
	if (__builtin_add_overflow(options->stack_bytes, SW_CAPTURE_ROOT_BYTES, &bytes) ||
	    __builtin_mul_overflow(n_threads, bytes, &bytes) || bytes > options->total_bytes)
		bytes = options->total_bytes;
	int r = pool_create(space, bytes + kept + SW_CAPTURE_WANT_BYTES, kept, err);
	if (r < 0)
		return r;
	*ret = space;
	return 0;
}

static int want(struct sw_capture *capture, uint64_t avma, size_t bytes)
{
	struct sw_capture_space *space = capture->arg;
	if (bytes > SW_CAPTURE_WANT_BYTES - space->want_bytes ||
	    space->n_parts >= SW_CAPTURE_RANGES)
		return -SW_E_LIMIT;
	space->want_bytes += bytes;
	space->parts[space->n_parts++] = (struct sw_capture_part){
		.avma = avma, .bytes = bytes, .wanted_bytes = bytes, .thread = -1, .owner = -1};
	return 0;
}

static void of_threads(struct sw_capture *capture, const struct sw_way *way)
{
	struct sw_capture_space *space = capture->arg;
	if (way->n <= SW_WAY_STEPS_MAX)
		space->context = *way;
}

/* The arena outlives whoever opens files. NULL: they are not known. */
static const struct sw_credentials *owner_of(struct sw_capture_space *space)
{
	char status[STATUS_BYTES];
	if (space->owner != NULL)
		return space->owner;
	struct sw_credentials *owner = sw_arena_alloc(&space->snap->priv->arena, sizeof(*owner));
	if (owner != NULL &&
	    sw_proc_read_small(space->proc_fd, "status", status, sizeof(status)) > 0 &&
	    sw_credentials_parse(status, owner))
		space->owner = owner;
	return space->owner;
}

static int open_in_root(struct sw_capture *capture, const char *path, struct stat *st)
{
	struct sw_pages *pages = &capture->snap->priv->pages;
	const struct sw_credentials *owner = owner_of(capture->arg);
	if (owner == NULL) {
		errno = EACCES;
		return -1;
	}
	return sw_guarded_open_as(pages, SW_ROOT_TARGETS, path, O_NOFOLLOW, SW_GUARDED_COPY, owner,
				  st);
}

static ssize_t proc_read(struct sw_capture *capture, const char *name, char *buffer, size_t bytes)
{
	const struct sw_capture_space *space = capture->arg;
	return sw_proc_read_small(space->proc_fd, name, buffer, bytes);
}

struct sw_capture sw_capture_of(struct sw_capture_space *space)
{
	static const struct sw_capture_ops ops = {.want = want,
						  .stack = sw_capture_stack_add,
						  .stack_known = sw_capture_stack_bound,
						  .copy = sw_capture_copy_range,
						  .copy_many = sw_capture_copies,
						  .expect = expect,
						  .is_late = sw_capture_is_over,
						  .wanted = sw_capture_wanted_find,
						  .in_stack = sw_capture_in_stack_find,
						  .read_many = sw_capture_reads,
						  .is_whole = sw_capture_all_held,
						  .of_threads = of_threads,
						  .open = open_in_root,
						  .proc_read = proc_read};
	return (struct sw_capture){.snap = space->snap,
				   .ops = &ops,
				   .memory = sw_live_memory(space->snap),
				   .arg = space};
}

static bool is_empty(const struct sw_hook *hook)
{
	return hook->before == NULL && hook->stacks == NULL && hook->in_window == NULL &&
	       hook->touch == NULL;
}

static void hook_add(struct sw_capture_space *space, struct sw_hook hook)
{
	hook.found = sw_slots_get(&space->snap->priv->found, hook.ops, NULL);
	if (hook.found != NULL) /* there are SW_SLOTS_MAX others: it reads what it can afterwards */
		space->hooks[space->n_hooks++] = hook;
}

static void hooks_find(struct sw_capture_space *space, const struct sw_tables *tables)
{
	/* Runtimes without hooks are probed after the process runs again. */
	for (size_t i = 0; i < tables->n_runtimes; i++) {
		const struct sw_runtime_ops *r = tables->runtimes[i];
		const struct sw_hook hook = {.ops = r,
					     .name = r->name,
					     .is_runtime = true,
					     .before = r->before,
					     .stacks = r->stacks,
					     .in_window = r->in_window,
					     .touch = r->touch};
		if (!is_empty(&hook) && r->probe(space->snap))
			hook_add(space, hook);
	}
	for (size_t i = 0; i < tables->n_unwinders; i++) {
		const struct sw_unwinder_ops *u = tables->unwinders[i];
		const struct sw_hook hook = {.ops = u,
					     .name = u->name,
					     .before = u->prepare,
					     .in_window = u->capture};
		if (!is_empty(&hook) && (u->probe == NULL || u->probe(space->snap)))
			hook_add(space, hook);
	}
}

void sw_capture_main_stack_find(struct sw_capture_space *space)
{
	const struct sw_snapshot *snap = space->snap;
	const struct sw_map *map = NULL;
	for (size_t i = 0; i < snap->n_maps && map == NULL; i++)
		if (strcmp(snap->maps[i].path, "[stack]") == 0)
			map = &snap->maps[i];
	space->main_stack = map;
	space->main_stack_end_avma = map != NULL ? map->end_avma : 0;
	struct sw_proc_stat stat;
	if (map == NULL || !sw_proc_stat_read(space->proc_fd, "stat", &stat) ||
	    stat.start_stack_avma < map->start_avma || stat.start_stack_avma >= map->end_avma)
		return;
	space->main_stack_end_avma = sw_capture_page_up(stat.start_stack_avma + 1);
}

void sw_capture_space_prepare(struct sw_capture_space *space, const struct sw_tables *tables)
{
	sw_capture_main_stack_find(space);
	/* Touched now, not in the stop. */
	memset(space->parts, 0, space->snap->n_threads * sizeof(*space->parts));
	hooks_find(space, sw_tables_of(tables, space->snap));
	space->capture = sw_capture_of(space);
	for (size_t i = 0; i < space->n_hooks; i++) {
		const struct sw_hook *hook = &space->hooks[i];
		struct sw_capture capture = space->capture;
		capture.found = hook->found;
		int r = hook->before != NULL ? hook->before(&capture) : 0;
		if (r < 0)
			sw_snapshot_warn(space->snap, SW_WARN_CAPTURE, 0, -r, "%s: %s", hook->name,
					 sw_error_text(r));
	}
	space->n_want = space->n_parts;
	sw_capture_touch_begin(space);
}

/* ---- after the stop ----------------------------------------------------------------------- */

void sw_capture_part_give(struct sw_capture_space *space, const struct sw_capture_part *p)
{
	struct sw_snapshot *snap = space->snap;
	if (p->thread >= 0) {
		struct sw_thread *t = &snap->threads[p->thread];
		t->stack_avma = p->avma;
		t->stack_bytes = p->bytes;
		t->stack = p->to;
		t->pages_missing = p->absent;
	} else if (p->wait) {
		/* For this thread alone: another may have waited for the same lock at another instant,
		 * with another owner. */
		struct sw_thread *t = &snap->threads[p->owner];
		if (p->bytes == sizeof(t->wait))
			memcpy(t->wait, p->to, sizeof(t->wait));
		t->wait_bytes = p->bytes == sizeof(t->wait) ? p->bytes : 0;
	} else if (p->context) {
		/* For this thread alone, likewise: records of others may lie in the same bytes. */
		snap->threads[p->owner].context = p->to;
		snap->threads[p->owner].context_bytes = p->bytes;
	} else if (p->bytes > 0 && snap->n_ranges < space->ranges_max) {
		snap->ranges[snap->n_ranges++] = (struct sw_range){p->avma, p->bytes, p->to};
	}
}

static void part_hand_over(struct sw_capture_space *space, const struct sw_capture_part *p)
{
	sw_capture_part_give(space, p);
	if (p->thread < 0 || !p->cut)
		return;
	const struct sw_thread *t = &space->snap->threads[p->thread];
	/* The part is shorter than it was asked for: it was not the limit that ended the copy. */
	if (p->bytes < p->wanted_bytes)
		return;
	sw_snapshot_warn(space->snap, SW_WARN_STACK_LIMIT, t->tid, SW_E_LIMIT,
			 "thread %d (%s): only the first %zu bytes of the stack were copied",
			 t->tid, t->comm, p->bytes);
}

static void part_drop(const struct sw_capture_space *space, struct sw_capture_part *p)
{
	p->absent |= space->stop->stalled && !space->stop->died && p->bytes > 0;
	p->bytes = 0;
}

/* The helper died on its way, or pages did not come: what it did not finish is taken as not done. Those
 * that found nothing then read the memory as it is now, as they do for a core file. */
static void unfinished_drop(struct sw_capture_space *space)
{
	for (size_t i = space->n_copied; i < space->n_parts; i++)
		part_drop(space, &space->parts[i]);
	for (size_t i = space->hooks_done; i < space->n_hooks; i++)
		if (space->hooks[i].in_window != NULL) /* else what it knows is from before */
			*space->hooks[i].found = NULL;
}

void sw_capture_space_finish(struct sw_capture_space *space)
{
	struct sw_snapshot *snap = space->snap;
	struct sw_snapshot_priv *priv = snap->priv;
	if (!space->stop->finished || space->stop->stalled)
		unfinished_drop(space);
	for (size_t i = 0; i < space->n_parts; i++)
		part_hand_over(space, &space->parts[i]);
	space->stop->timed_out |= space->out_of_time;
	if (space->space_short)
		sw_snapshot_warn(snap, SW_WARN_CAPTURE, 0, SW_E_LIMIT,
				 "an unwinder's data was not copied in whole");
	size_t keep = sw_capture_page_up(space->used);
	if (keep > 0 && keep < priv->pool_bytes && !priv->pages.left_behind) {
		(void) munmap(priv->pool + keep, priv->pool_bytes - keep); /* ours */
		priv->pool_bytes = keep;
	}
}
