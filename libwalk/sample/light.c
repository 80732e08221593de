/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sample/light.h"
#include "capture/returns.h"
#include "sample/blocked.h"
#include "sample/borrowed.h"
#include "sample/held.h"
#include "sample/recipes.h"
#include "capture/decide.h"
#include "capture/reader.h"
#include "capture/stacks.h"
#include "capture/window.h"
#include "cleanup.h"
#include "errors.h"
#include "iterate/proof.h"
#include "iterate/thread.h"
#include "snapshot/read.h"
#include "snapshot/snapshot.h"
#include "walk/active.h"
#include "walk/tables.h"

#include <fcntl.h>
#include <snapwalk/clock.h>
#include <string.h>

enum {
	CAPACITY = 1024, /* threads of one sample; more make it a capture by sw_snapshot_take() */
	TRIES = 8,       /* windows for threads that ran meanwhile */
	NS_PER_MS = 1000000,
};

struct sw_light {
	struct sw_snapshot *base;       /* borrowed */
	const struct sw_target *target; /* borrowed */
	struct sw_snapshot *snap;       /* owned; borrows from base */
	struct sw_expendable *reader;   /* owned */
	struct sw_capture_space *space; /* the snapshot's arena's */
	struct sw_stop stop;
	bool *chosen;                      /* the snapshot's arena's, as the following */
	bool *held;                        /* was stopped */
	struct sw_iterate_record *records; /* of the second pass */
	size_t records_max;
	struct sw_iterate_record *again; /* by thread: how it was in the last pass */
	enum sw_stop_mode mode;
	struct sw_sample_links *links;     /* borrowed */
	struct sw_sample_blocked *blocked; /* owned; NULL: native code */
	struct sw_slots kept;              /* of runtimes: sw_snapshot_priv.kept */
	struct sw_range *ranges; /* the snapshot's arena's: those that are not of copies */
	bool lost;
};

bool sw_light_has_frames(const struct sw_runtime_ops *runtime)
{
	return runtime->step != NULL || runtime->owns != NULL || runtime->frames != NULL;
}

bool sw_light_is_native(const struct sw_snapshot *snap, const struct sw_tables *tables)
{
	if (sw_snapshot_has_made_code(snap) || sw_snapshot_has_kind(snap, SW_MODULE_PE))
		return false;
	tables = sw_tables_of(tables, snap);
	for (size_t i = 0; i < tables->n_runtimes; i++)
		if (sw_light_has_frames(tables->runtimes[i]) && tables->runtimes[i]->probe(snap))
			return false;
	return true;
}

bool sw_light_is_possible(const struct sw_snapshot *snap, const struct sw_tables *tables)
{
	return sw_returns_page(snap) == NULL && sw_light_is_native(snap, tables);
}

/* ---- create --------------------------------------------------------------------------------- */

static int arrays_create(struct sw_light *l, struct sw_error *err)
{
	struct sw_arena *arena = &l->snap->priv->arena;
	struct sw_stop *s = &l->stop;
	s->capacity = CAPACITY;
	l->records_max = CAPACITY * 4;
	s->tracees = sw_arena_calloc(arena, CAPACITY, sizeof(*s->tracees));
	s->tids = sw_arena_calloc(arena, CAPACITY, sizeof(*s->tids));
	s->pending = sw_arena_calloc(arena, CAPACITY, sizeof(*s->pending));
	l->snap->threads = sw_arena_calloc(arena, CAPACITY, sizeof(*l->snap->threads));
	l->chosen = sw_arena_calloc(arena, CAPACITY, sizeof(*l->chosen));
	l->held = sw_arena_calloc(arena, CAPACITY, sizeof(*l->held));
	l->records = sw_arena_alloc(arena, l->records_max * sizeof(*l->records));
	l->again = sw_arena_alloc(arena, CAPACITY * sizeof(*l->again));
	if (s->tracees == NULL || s->tids == NULL || s->pending == NULL ||
	    l->snap->threads == NULL || l->chosen == NULL || l->held == NULL ||
	    l->records == NULL || l->again == NULL)
		return sw_fail_nomem(err);
	return 0;
}

/* Prepares copies by a recipe. Constant things are read later, and proven again by who needs them. */
static int copies_prepare(struct sw_light *l, const struct sw_recipe *recipe, struct sw_error *err)
{
	struct sw_snapshot_priv *priv = l->snap->priv;
	l->blocked = sw_sample_blocked_create(l->base, recipe);
	if (l->blocked == NULL)
		return sw_fail_nomem(err);
	priv->by_copies = true;
	priv->unpublished = sw_sample_is_unpublished(l->base, &sw_tables);
	priv->kept = &l->kept;
	priv->task_fd = l->target->task_fd;
	if (l->base->priv->mem_fd >= 0)
		priv->mem_fd = fcntl(l->base->priv->mem_fd, F_DUPFD_CLOEXEC, 0);
	priv->live_dead = priv->mem_fd < 0;
	return 0;
}

int sw_light_create(struct sw_snapshot *base, const struct sw_target *target,
		    const struct sw_snapshot_options *options, struct sw_sample_links *links,
		    const struct sw_recipe *recipe, struct sw_light **ret, struct sw_error *err)
{
	enum { STACK_BYTES = 256 << 10, TOTAL_BYTES = 512 << 20, MAX_STOP_MS = 100 };
	struct sw_light *l = calloc(1, sizeof(*l));
	if (l == NULL)
		return sw_fail_nomem(err);
	l->base = base;
	l->target = target;
	l->mode = options->stop;
	l->links = links;
	struct sw_stop *s = &l->stop;
	s->task_fd = target->task_fd;
	s->mem_fd = base->priv->mem_fd;
	s->pagemap_fd = base->priv->pages.pagemap_fd;
	s->statm_fd = -EBADF;
	s->realtime = !options->no_realtime;
	s->restart = options->restart;
	s->is_32bit = base->process.elf_class == 32;
	s->max_stop_ns = (options->max_stop_ms != 0 ? options->max_stop_ms : MAX_STOP_MS) *
			 (int64_t) NS_PER_MS;
	const struct sw_snapshot_options sizes = {
		.stack_bytes = options->stack_bytes != 0 ? options->stack_bytes : STACK_BYTES,
		.total_bytes = options->total_bytes != 0 ? options->total_bytes : TOTAL_BYTES};
	const int fds[] = {s->mem_fd, s->pagemap_fd};
	int r = sw_borrowed_create(base, &l->snap, err);
	if (r == 0)
		r = arrays_create(l, err);
	if (r == 0)
		r = sw_capture_space_create(l->snap, s, &sizes, CAPACITY, &l->space, err);
	if (r == 0)
		r = sw_expendable_start(fds, SW_ARRAY_SIZE(fds), &l->reader, err);
	if (r == 0 && recipe != NULL)
		r = copies_prepare(l, recipe, err);
	if (r < 0) {
		sw_light_destroy(l);
		return r;
	}
	l->snap->priv->native_only = recipe == NULL; /* sw_light_is_possible() */
	l->ranges = l->snap->ranges;
	l->space->reader = l->reader;
	l->space->chosen = l->chosen;
	l->space->proc_fd = target->proc_fd;
	sw_capture_main_stack_find(l->space);
	*ret = l;
	return 0;
}

void sw_light_destroy(struct sw_light *l)
{
	if (l == NULL)
		return;
	if (l->reader != NULL)
		l->lost |= !sw_expendable_end(l->reader);
	sw_slots_deinit(&l->kept); /* before the snapshot that they are of */
	sw_sample_blocked_destroy(l->blocked);
	sw_borrowed_destroy(l->snap, l->lost);
	free(l);
}

void sw_light_set_stop(struct sw_light *l, enum sw_stop_mode stop)
{
	l->mode = stop;
}

bool sw_light_by_copies(const struct sw_light *l)
{
	return l->blocked != NULL;
}

size_t sw_light_capacity(const struct sw_light *light)
{
	(void) light;
	return CAPACITY;
}

/* ---- the second look ------------------------------------------------------------------------- */

static const struct sw_iterate_record *record_find(const struct sw_iterate_record *records,
						   size_t n, const struct sw_iterate_record *like)
{
	for (size_t i = 0; i < n; i++)
		if (records[i].tid == like->tid && records[i].start_ns == like->start_ns)
			return &records[i];
	return NULL;
}

/* The second look at one thread of the window. Its record is that of this pass from now on. */
static bool is_proven(struct sw_light *l, struct sw_light_thread *t, size_t i, size_t n_records,
		      bool *carried)
{
	const struct sw_iterate_record *before = t->record;
	const struct sw_iterate_record *after = record_find(l->records, n_records, before);
	int reason;
	if ((pid_t) before->tid == l->space->carrier)
		*carried = after != NULL && after->exec_id == before->exec_id &&
			   after->in_exec == 0 &&
			   sw_take_how(after, l->stop.is_32bit, &reason) != SW_TAKE_NOT;
	if (after == NULL) {
		t->reason = SW_E_EXITED;
		return false;
	}
	bool proven = sw_iterate_is_unchanged(before, after);
	l->again[i] = *after;
	t->record = &l->again[i];
	return proven;
}

/* Sets reason of those in the window: 0, or that they ran. The one through which memory was read must have
 * lasted: it is one of them. */
static int prove(struct sw_light *l, struct sw_light_thread *threads, size_t n,
		 struct sw_error *err)
{
	size_t n_chosen = 0, n_all = 0;
	bool carried = false;
	for (size_t i = 0; i < n; i++)
		n_chosen += l->chosen[i];
	struct sw_iterate_pass all = {0};
	bool one_by_one = n_chosen <= SW_SAMPLE_ONE_BY_ONE;
	int r = one_by_one
			? 0
			: sw_sample_links_read_all(l->links, l->records, l->records_max, &all, err);
	n_all = all.n;
	for (size_t i = 0; r == 0 && i < n; i++) {
		if (!l->chosen[i])
			continue;
		if (one_by_one)
			r = sw_sample_link_read(l->links, (pid_t) threads[i].record->tid,
						l->records, &n_all, err);
		if (is_proven(l, &threads[i], i, n_all, &carried))
			threads[i].reason = 0;
		else if (threads[i].reason == 0)
			threads[i].reason = SW_E_RUNNING;
	}
	/* A thread that has ended is not the one through which the next window reads. */
	for (size_t i = 0; !carried && i < n; i++)
		if (l->chosen[i] && threads[i].reason != SW_E_EXITED)
			threads[i].reason = SW_E_RUNNING;
	return r;
}

/* ---- the windows ---------------------------------------------------------------------------- */

static void stop_reset(struct sw_stop *s)
{
	s->deadline_ns = s->copy_end_ns = sw_clock_ns() + s->max_stop_ns;
	s->timed_out = s->stalled = s->finished = s->died = s->changed = false;
	s->time_ns = sw_realtime_ns();
}

/* Drops the parts of threads that ran: their memory does not belong to their registers. */
static void parts_drop(struct sw_light *l, const struct sw_light_thread *threads)
{
	for (size_t k = l->space->first; k < l->space->n_parts; k++) {
		struct sw_capture_part *p = &l->space->parts[k];
		if (p->owner < 0 || threads[p->owner].reason != 0)
			p->bytes = 0;
	}
}

/* Between the two looks at the threads, as their stacks. */
static void copies_make(struct sw_light *l, const struct sw_light_thread *threads, size_t n)
{
	if (l->blocked == NULL || l->lost)
		return;
	sw_sample_blocked_window(l->blocked);
	for (size_t i = 0; i < n; i++) {
		struct sw_thread *t = &l->snap->threads[i];
		const struct sw_recipe_thread thread = {threads[i].record->regs, t->fs_base};
		if (l->chosen[i])
			t->copy = sw_sample_blocked_copy(l->blocked, &thread);
	}
}

/* Reads the threads that are off the CPU and not read yet, and proves that they did not run. *ret_again: how many of them
 * ran meanwhile, and are off it again. */
static int window_touchless(struct sw_light *l, struct sw_light_thread *threads, size_t n,
			    bool first, size_t *ret_again, struct sw_error *err)
{
	struct sw_stop *s = &l->stop;
	bool any = false;
	l->space->only_rest = true; /* behind the windows before */
	l->space->carrier = 0;
	for (size_t i = 0; i < n; i++) {
		struct sw_light_thread *t = &threads[i];
		l->chosen[i] = false;
		if (!first && t->reason != SW_E_RUNNING)
			continue;
		s->tracees[i] =
			(struct sw_tracee){.tid = (pid_t) t->record->tid, .phase = SW_TRACEE_LOST};
		if (sw_take_how(t->record, s->is_32bit, &t->reason) != SW_TAKE_READ) {
			t->reason = t->reason != 0 ? t->reason : SW_E_RUNNING;
			continue;
		}
		sw_iterate_registers(t->record, &s->tracees[i].regs);
		s->tracees[i].has_regs = l->chosen[i] = true;
		if (!any)
			l->space->carrier = s->tracees[i].tid;
		any = true;
	}
	*ret_again = 0;
	if (!any)
		return 0;
	stop_reset(s);
	sw_capture_reader_fill(l->space, s);
	l->lost |= s->stalled;
	copies_make(l, threads, n);
	int r = l->lost ? 0 : prove(l, threads, n, err);
	parts_drop(l, threads);
	for (size_t i = 0; i < n; i++)
		*ret_again += threads[i].reason == SW_E_RUNNING && threads[i].record->on_cpu == 0;
	return r;
}

/* Stops the threads that are on a CPU, and reads them. */
static int window_stopped(struct sw_light *l, struct sw_light_thread *threads, size_t n,
			  struct sw_light_result *ret, struct sw_error *err)
{
	struct sw_stop *s = &l->stop;
	size_t n_wanted = 0;
	for (size_t i = 0; i < n; i++) {
		const struct sw_iterate_record *record = threads[i].record;
		bool wanted = threads[i].reason == SW_E_RUNNING && record->on_cpu != 0 &&
			      record->traced == 0 && record->in_exec == 0;
		l->chosen[i] = false;
		if (wanted)
			s->tracees[i] = (struct sw_tracee){.tid = (pid_t) record->tid};
		n_wanted += wanted;
	}
	if (n_wanted == 0 || l->mode == SW_STOP_NEVER || l->lost)
		return 0;
	struct sw_sample_held held = {.space = l->space, .chosen = l->chosen};
	s->stopped = sw_sample_held_fill;
	s->arg = &held;
	int64_t time_ns = s->time_ns;
	stop_reset(s);
	s->deadline_ns = s->stopped_ns = 0;
	int r = sw_stop_run(s, err);
	s->time_ns = time_ns;
	l->lost |= s->stalled || (r == 0 && !s->finished);
	ret->stopped_ns = s->stopped_ns;
	for (size_t i = 0; r == 0 && i < n; i++) {
		const struct sw_tracee *t = &s->tracees[i];
		if (t->interrupt_ns == 0)
			continue;
		ret->n_stopped++;
		ret->n_interrupted += t->visible;
		int64_t held_ns = t->release_ns - t->interrupt_ns;
		if (t->release_ns != 0 && held_ns > ret->longest_ns)
			ret->longest_ns = held_ns;
		if (!l->chosen[i] || !t->has_regs) {
			threads[i].reason = t->reason != 0 ? t->reason : SW_E_STOP_TIMEOUT;
			continue;
		}
		l->held[i] = true;
		threads[i].reason = 0;
	}
	return r;
}

/* ---- after them ------------------------------------------------------------------------------ */

static int threads_finish(struct sw_light *l, const struct sw_light_thread *threads, size_t n,
			  struct sw_light_result *ret, struct sw_error *err)
{
	struct sw_snapshot *snap = l->snap;
	for (size_t i = 0; i < n; i++) {
		struct sw_thread *t = &snap->threads[i];
		t->captured = threads[i].reason == 0;
		t->reason = threads[i].reason;
		if (!t->captured) {
			t->copy = NULL;
			continue;
		}
		t->captured_by = l->held[i] ? SW_CAPTURED_PTRACE : SW_CAPTURED_ITERATOR;
		const struct sw_map *code = sw_snapshot_map(snap, t->regs.pc_avma);
		if (code == NULL || !(code->prot & SW_MAP_EXEC) || t->stack_end_avma == 0)
			ret->unknown_code = true;
	}
	snap->n_ranges = 0;
	for (size_t k = 0; k < l->space->n_parts; k++) {
		const struct sw_capture_part *p = &l->space->parts[k];
		if (p->owner >= 0 && snap->threads[p->owner].captured && p->bytes > 0)
			sw_capture_part_give(l->space, p);
	}
	snap->time_ns = ret->time_ns = l->stop.time_ns;
	snap->times.stopped_ns = ret->stopped_ns;
	snap->times.longest_thread_ns = ret->longest_ns;
	snap->n_stopped = ret->n_stopped;
	if (l->blocked != NULL && sw_sample_blocked_give(l->blocked, snap) < 0)
		return sw_fail_nomem(err);
	sw_snapshot_index_threads(snap);
	return 0;
}

int sw_light_read(struct sw_light *l, struct sw_light_thread *threads, size_t n,
		  struct sw_light_result *ret, struct sw_error *err)
{
	struct sw_snapshot *snap = l->snap;
	*ret = (struct sw_light_result){0};
	if (n > CAPACITY)
		return sw_fail(err, SW_E_INVALID, "too many threads for one sample");
	l->stop.n = snap->n_threads = n;
	snap->ranges = l->ranges;
	if (l->blocked != NULL) {
		sw_sample_blocked_reset(l->blocked);
		sw_active_open(snap, &sw_tables);
		ret->renewed = !sw_active_renew(&l->kept);
	}
	for (size_t i = 0; i < n; i++) {
		snap->threads[i] =
			(struct sw_thread){.tid = (pid_t) threads[i].record->tid,
					   .own_tid = (pid_t) threads[i].record->inner_tid,
					   .state = '?',
					   .syscall = -1,
					   .cpu_ns = -1,
					   .stop_ns = -1,
					   .since_ns = -1};
		sw_window_describe(&snap->threads[i], threads[i].record);
	}
	l->space->n_parts = l->space->used = snap->n_ranges = 0;
	memset(l->held, 0, n * sizeof(*l->held));
	size_t n_again = 1;
	int r = 0;
	for (int i = 0; r == 0 && n_again > 0 && i < TRIES && !l->lost; i++)
		r = window_touchless(l, threads, n, i == 0, &n_again, err);
	if (r == 0)
		r = window_stopped(l, threads, n, ret, err);
	ret->lost = l->lost;
	if (r < 0 || l->lost)
		return r;
	r = threads_finish(l, threads, n, ret, err);
	ret->snap = snap;
	return r;
}
