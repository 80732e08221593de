/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sample/light.h"
#include "capture/decide.h"
#include "capture/reader.h"
#include "capture/stacks.h"
#include "capture/window.h"
#include "cleanup.h"
#include "errors.h"
#include "iterate/proof.h"
#include "iterate/tasks.h"
#include "iterate/thread.h"
#include "snapshot/read.h"
#include "snapshot/snapshot.h"

#include <snapwalk/clock.h>
#include <string.h>

enum {
	CAPACITY = 1024, /* threads of one sample; more make it a capture by sw_snapshot_take() */
	LINKS = 32,      /* threads for which a pass of their own is kept */
	ONE_BY_ONE_MAX = 24, /* passes of one thread that cost less than one over a thousand */
	NS_PER_MS = 1000000,
};

/* The iterator of one thread. */
struct thread_link {
	pid_t tid;
	int fd; /* owned; -EBADF: none */
	uint64_t used;
};

struct sw_light {
	struct sw_snapshot *base;       /* borrowed */
	const struct sw_target *target; /* borrowed */
	struct sw_snapshot *snap;       /* owned; maps, places and found are base's */
	struct sw_expendable *reader;   /* owned */
	struct sw_capture_space *space; /* the snapshot's arena's */
	struct sw_stop stop;
	bool *chosen;                      /* the snapshot's arena's, as the following */
	bool *held;                        /* was stopped */
	struct sw_iterate_record *records; /* of the second pass */
	size_t records_max;
	enum sw_stop_mode mode;
	int program_fd, link_fd; /* borrowed */
	struct thread_link links[LINKS];
	uint64_t clock; /* of their use */
	bool lost;
};

bool sw_light_is_possible(const struct sw_snapshot *snap, const struct sw_tables *tables)
{
	if (sw_snapshot_has_made_code(snap) || sw_snapshot_has_kind(snap, SW_MODULE_PE))
		return false;
	for (size_t i = 0; i < tables->n_runtimes; i++)
		if (tables->runtimes[i]->probe(snap))
			return false;
	return true;
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
	if (s->tracees == NULL || s->tids == NULL || s->pending == NULL ||
	    l->snap->threads == NULL || l->chosen == NULL || l->held == NULL || l->records == NULL)
		return sw_fail_nomem(err);
	return 0;
}

/* What is base's is borrowed: sw_light_destroy() takes it out again. */
static void snapshot_borrow(struct sw_light *l)
{
	struct sw_snapshot *snap = l->snap;
	const struct sw_snapshot *base = l->base;
	snap->process = base->process;
	snap->maps = base->maps;
	snap->n_maps = base->n_maps;
	snap->places = base->places;
	snap->n_places = base->n_places;
	snap->live = true;
	snap->priv->found = base->priv->found;
	snap->priv->pages = base->priv->pages;
	snap->priv->live_dead = true; /* it runs on: what is read later is of another time */
}

static void snapshot_return(struct sw_light *l)
{
	l->snap->priv->found = (struct sw_slots){0};
	sw_pages_init(&l->snap->priv->pages);
	l->snap->priv->pages.left_behind = l->lost; /* what it may write to is not freed */
}

int sw_light_create(struct sw_snapshot *base, const struct sw_target *target,
		    const struct sw_snapshot_options *options, int program_fd, int link_fd,
		    struct sw_light **ret, struct sw_error *err)
{
	enum { STACK_BYTES = 256 << 10, TOTAL_BYTES = 512 << 20, MAX_STOP_MS = 100 };
	struct sw_light *l = calloc(1, sizeof(*l));
	if (l == NULL)
		return sw_fail_nomem(err);
	l->base = base;
	l->target = target;
	l->mode = options->stop;
	l->program_fd = program_fd;
	l->link_fd = link_fd;
	for (size_t i = 0; i < LINKS; i++)
		l->links[i].fd = -EBADF;
	struct sw_stop *s = &l->stop;
	s->task_fd = target->task_fd;
	s->mem_fd = base->priv->mem_fd;
	s->pagemap_fd = base->priv->pages.pagemap_fd;
	s->statm_fd = -EBADF;
	s->realtime = !options->no_realtime;
	s->restart = options->restart;
	s->max_stop_ns = (options->max_stop_ms != 0 ? options->max_stop_ms : MAX_STOP_MS) *
			 (int64_t) NS_PER_MS;
	const struct sw_snapshot_options sizes = {
		.stack_bytes = options->stack_bytes != 0 ? options->stack_bytes : STACK_BYTES,
		.total_bytes = options->total_bytes != 0 ? options->total_bytes : TOTAL_BYTES};
	const int fds[] = {s->mem_fd, s->pagemap_fd};
	int r = sw_snapshot_create(base->ctx, &l->snap, err);
	if (r == 0)
		snapshot_borrow(l);
	if (r == 0)
		r = arrays_create(l, err);
	if (r == 0)
		r = sw_capture_space_create(l->snap, s, &sizes, CAPACITY, &l->space, err);
	if (r == 0)
		r = sw_expendable_start(fds, SW_ARRAY_SIZE(fds), &l->reader, err);
	if (r < 0) {
		sw_light_destroy(l);
		return r;
	}
	l->space->reader = l->reader;
	l->space->chosen = l->chosen;
	l->space->proc_fd = target->proc_fd;
	for (size_t i = 0; i < l->snap->n_maps; i++)
		if (strcmp(l->snap->maps[i].path, "[stack]") == 0)
			l->space->main_stack = &l->snap->maps[i];
	*ret = l;
	return 0;
}

void sw_light_destroy(struct sw_light *l)
{
	if (l == NULL)
		return;
	for (size_t i = 0; i < LINKS; i++)
		sw_close_p(&l->links[i].fd);
	if (l->reader != NULL)
		l->lost |= !sw_expendable_end(l->reader);
	if (l->snap != NULL) {
		snapshot_return(l);
		sw_snapshot_destroy(l->snap);
	}
	free(l);
}

size_t sw_light_capacity(const struct sw_light *light)
{
	(void) light;
	return CAPACITY;
}

/* ---- the second look ------------------------------------------------------------------------- */

static int link_of(struct sw_light *l, pid_t tid, int *ret_fd, struct sw_error *err)
{
	struct thread_link *oldest = &l->links[0];
	l->clock++;
	for (size_t i = 0; i < LINKS; i++) {
		struct thread_link *link = &l->links[i];
		if (link->fd >= 0 && link->tid == tid) {
			link->used = l->clock;
			*ret_fd = link->fd;
			return 0;
		}
		if (link->used < oldest->used)
			oldest = link;
	}
	sw_close_p(&oldest->fd);
	oldest->used = 0;
	int r = sw_iterate_link_thread(l->program_fd, tid, &oldest->fd, err);
	if (r < 0)
		return r;
	oldest->tid = tid;
	oldest->used = l->clock;
	*ret_fd = oldest->fd;
	return 0;
}

/* How many records there are of it now; 0: it is gone. */
static int pass(int link_fd, struct sw_iterate_record *records, size_t max, size_t *ret_n,
		struct sw_error *err)
{
	sw_cleanup(sw_close_p) int fd = -EBADF;
	struct sw_iterate_pass got = {0};
	int r = sw_iterate_open(link_fd, &fd, err);
	if (r < 0)
		return r;
	r = sw_iterate_read(fd, records, max, &got);
	*ret_n = got.n;
	return r < 0 ? sw_fail_errno(err, -r, "the task iterator cannot be read") : 0;
}

static const struct sw_iterate_record *record_find(const struct sw_iterate_record *records,
						   size_t n, const struct sw_iterate_record *like)
{
	for (size_t i = 0; i < n; i++)
		if (records[i].tid == like->tid && records[i].start_ns == like->start_ns)
			return &records[i];
	return NULL;
}

/* Sets reason of those in the window that ran. The one through which memory was read must have lasted:
 * it is one of them. */
static int prove(struct sw_light *l, struct sw_light_thread *threads, size_t n,
		 struct sw_error *err)
{
	size_t n_chosen = 0, n_all = 0;
	bool carried = false;
	for (size_t i = 0; i < n; i++)
		n_chosen += l->chosen[i];
	bool one_by_one = n_chosen <= ONE_BY_ONE_MAX;
	int r = one_by_one ? 0 : pass(l->link_fd, l->records, l->records_max, &n_all, err);
	for (size_t i = 0; r == 0 && i < n; i++) {
		int fd = -EBADF;
		if (!l->chosen[i])
			continue;
		const struct sw_iterate_record *before = threads[i].record;
		if (one_by_one) {
			r = link_of(l, (pid_t) before->tid, &fd, err);
			n_all = 0;
			if (r == 0)
				r = pass(fd, l->records, l->records_max, &n_all, err);
			/* Gone, and its id with it. */
			if (r == -SW_E_NO_PROCESS)
				r = 0;
		}
		const struct sw_iterate_record *after = record_find(l->records, n_all, before);
		int reason;
		if ((pid_t) before->tid == l->space->carrier)
			carried = after != NULL && after->exec_id == before->exec_id &&
				  after->in_exec == 0 && sw_take_how(after, &reason) != SW_TAKE_NOT;
		if (after == NULL || !sw_iterate_is_unchanged(before, after))
			threads[i].reason = SW_E_RUNNING;
	}
	for (size_t i = 0; !carried && i < n; i++)
		if (l->chosen[i])
			threads[i].reason = SW_E_RUNNING;
	return r;
}

/* ---- the windows ---------------------------------------------------------------------------- */

static void stop_reset(struct sw_stop *s)
{
	s->deadline_ns = sw_clock_ns() + s->max_stop_ns;
	s->timed_out = s->stalled = s->finished = s->died = s->changed = false;
	s->time_ns = sw_realtime_ns();
}

/* Whoever is off the CPU: read, and proven. */
static int window_touchless(struct sw_light *l, struct sw_light_thread *threads, size_t n,
			    struct sw_error *err)
{
	struct sw_stop *s = &l->stop;
	bool any = false;
	l->space->only_rest = false;
	l->space->carrier = 0;
	for (size_t i = 0; i < n; i++) {
		const struct sw_iterate_record *record = threads[i].record;
		s->tracees[i] = (struct sw_tracee){.tid = (pid_t) record->tid,
						   .phase = SW_TRACEE_LOST};
		l->held[i] = false;
		l->chosen[i] =
			sw_take_how(record, &threads[i].reason) == SW_TAKE_READ && !l->lost;
		if (!l->chosen[i]) {
			if (threads[i].reason == 0)
				threads[i].reason = SW_E_RUNNING;
			continue;
		}
		sw_iterate_registers(record, &s->tracees[i].regs);
		s->tracees[i].has_regs = true;
		if (!any)
			l->space->carrier = (pid_t) record->tid;
		any = true;
	}
	stop_reset(s);
	sw_capture_reader_fill(l->space, s);
	l->lost |= s->stalled;
	return any && !l->lost ? prove(l, threads, n, err) : 0;
}

/* In the helper, while threads are STOPPED. */
static void held_fill(void *arg, struct sw_stop *s)
{
	struct sw_light *l = arg;
	for (size_t i = 0; i < s->n; i++) {
		l->chosen[i] = s->tracees[i].phase == SW_TRACEE_STOPPED && s->tracees[i].has_regs;
		if (l->chosen[i])
			l->space->carrier = s->tracees[i].tid;
	}
	sw_capture_reader_fill(l->space, s);
}

/* Whoever is on one: stopped. */
static int window_stopped(struct sw_light *l, struct sw_light_thread *threads, size_t n,
			  struct sw_light_result *ret, struct sw_error *err)
{
	struct sw_stop *s = &l->stop;
	size_t n_wanted = 0;
	for (size_t i = 0; i < n; i++) {
		const struct sw_iterate_record *record = threads[i].record;
		bool wanted = record->on_cpu != 0 && threads[i].reason == SW_E_RUNNING &&
			      record->traced == 0 && record->in_exec == 0;
		l->chosen[i] = false;
		if (wanted)
			s->tracees[i] = (struct sw_tracee){.tid = (pid_t) record->tid};
		n_wanted += wanted;
	}
	if (n_wanted == 0 || l->mode == SW_STOP_NEVER || l->lost)
		return 0;
	l->space->only_rest = true;
	s->stopped = held_fill;
	s->arg = l;
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

static void part_hand_over(struct sw_light *l, const struct sw_capture_part *p)
{
	struct sw_snapshot *snap = l->snap;
	const struct sw_thread *owner = p->owner >= 0 ? &snap->threads[p->owner] : NULL;
	if (owner == NULL || !owner->captured || p->bytes == 0)
		return;
	struct sw_thread *t = &snap->threads[p->owner];
	if (p->thread >= 0) {
		t->stack_avma = p->avma;
		t->stack_bytes = p->bytes;
		t->stack = p->to;
		t->pages_missing = p->absent;
	} else if (p->wait) {
		t->wait_bytes = p->bytes == sizeof(t->wait) ? p->bytes : 0;
		if (t->wait_bytes != 0)
			memcpy(t->wait, p->to, sizeof(t->wait));
	} else if (snap->n_ranges < l->space->ranges_max) {
		snap->ranges[snap->n_ranges++] = (struct sw_range){p->avma, p->bytes, p->to};
	}
}

static void threads_finish(struct sw_light *l, const struct sw_light_thread *threads, size_t n,
			   struct sw_light_result *ret)
{
	struct sw_snapshot *snap = l->snap;
	for (size_t i = 0; i < n; i++) {
		struct sw_thread *t = &snap->threads[i];
		t->captured = threads[i].reason == 0;
		t->reason = threads[i].reason;
		if (!t->captured)
			continue;
		t->captured_by = l->held[i] ? SW_CAPTURED_PTRACE : SW_CAPTURED_ITERATOR;
		const struct sw_map *code = sw_snapshot_map(snap, t->regs.pc_avma);
		if (code == NULL || !(code->prot & SW_MAP_EXEC) || t->stack_end_avma == 0)
			ret->unknown_code = true;
	}
	snap->n_ranges = 0;
	for (size_t k = 0; k < l->space->n_parts; k++)
		part_hand_over(l, &l->space->parts[k]);
	snap->time_ns = ret->time_ns = l->stop.time_ns;
	snap->times.stopped_ns = ret->stopped_ns;
	snap->times.longest_thread_ns = ret->longest_ns;
	snap->n_stopped = ret->n_stopped;
	sw_snapshot_index_threads(snap);
}

int sw_light_read(struct sw_light *l, struct sw_light_thread *threads, size_t n,
		  struct sw_light_result *ret, struct sw_error *err)
{
	struct sw_snapshot *snap = l->snap;
	*ret = (struct sw_light_result){0};
	if (n > CAPACITY)
		return sw_fail(err, SW_E_INVALID, "too many threads for one sample");
	l->stop.n = snap->n_threads = n;
	for (size_t i = 0; i < n; i++) {
		snap->threads[i] = (struct sw_thread){.tid = (pid_t) threads[i].record->tid,
						      .own_tid = (pid_t) threads[i].record->inner_tid,
						      .state = '?',
						      .syscall = -1,
						      .cpu_ns = -1,
						      .stop_ns = -1,
						      .since_ns = -1};
		sw_window_describe(&snap->threads[i], threads[i].record);
	}
	int r = window_touchless(l, threads, n, err);
	if (r == 0)
		r = window_stopped(l, threads, n, ret, err);
	ret->lost = l->lost;
	if (r < 0 || l->lost)
		return r;
	threads_finish(l, threads, n, ret);
	ret->snap = snap;
	return 0;
}
