/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "snapshot/snapshot.h"
#include "capture/threads.h"
#include "capture/before.h"
#include "capture/touchless.h"
#include "capture/waits.h"
#include "errors.h"
#include "urgent.h"

#include <string.h>
#include <sys/stat.h>

enum {
	CREW_MIN_THREADS = 64,      /* of the target, from where on a second thread of ours helps */
	CREW_SHARE = 16,            /* threads described at a time */
	CREW_URGENT_THREADS = 2048, /* of the target, to describe which takes 50 ms at most */
};

/* Reading two files of /proc takes longer than stopping a thread. Two of us do it. */
struct crew {
	struct sw_take *take;
	size_t n;
	_Atomic size_t next; /* the first thread that nobody describes yet */
	bool helped;
	pthread_t helper;
};

static bool wanted(const struct sw_take *take, const struct sw_thread *t)
{
	const struct sw_snapshot_options *o = &take->options;
	if (o->running_only && t->state != 'R')
		return false;
	if (o->tids == NULL)
		return true;
	for (size_t i = 0; i < o->n_tids; i++)
		if (o->tids[i] == t->tid)
			return true;
	return false;
}

/* A thread that was asked for by its number must be one of the process. */
static int check_wanted(struct sw_take *take, size_t n)
{
	const struct sw_snapshot_options *o = &take->options;
	for (size_t i = 0; o->tids != NULL && i < o->n_tids; i++) {
		size_t k = 0;
		while (k < n && take->stop.tids[k] != o->tids[i])
			k++;
		if (k == n)
			return sw_fail(take->err, SW_E_NO_THREAD, "process %d has no thread %d",
				       (int) take->target->pid, (int) o->tids[i]);
	}
	return 0;
}

/* The thread is described by /proc. Returns false if it is gone. */
bool sw_take_describe(struct sw_take *take, struct sw_thread *t, struct sw_proc_stat *ret_stat)
{
	char name[32];
	(void) snprintf(name, sizeof(name), "%d/stat", (int) t->tid); /* fits */
	if (!sw_proc_stat_read(take->target->task_fd, name, ret_stat))
		return false;
	memcpy(t->comm, ret_stat->comm, sizeof(t->comm));
	t->state = ret_stat->state;
	t->flags = ret_stat->flags;
	/* Hundredths of a second. schedstat has nanoseconds, for the price of a third file. */
	t->cpu_ns = (int64_t) (ret_stat->cpu_ticks *
			       (UINT64_C(1000000000) / (uint64_t) sysconf(_SC_CLK_TCK)));
	sw_wait_read(take, t);
	return true;
}

/* Decides from what is known before whether a thread is to be stopped. */
static void tracee_init(struct sw_take *take, struct sw_tracee *tracee, const struct sw_thread *t)
{
	*tracee = (struct sw_tracee){.tid = t->tid, .uninterruptible = t->state == 'D'};
	if (t->flags & SW_PF_IO_WORKER)
		tracee->reason = SW_E_IO_WORKER;
	else if (t->flags & SW_PF_KTHREAD)
		tracee->reason = SW_E_KERNEL_THREAD;
	else if (t->state == 'Z' || t->state == 'X')
		tracee->reason = SW_E_ZOMBIE;
	else if (!wanted(take, t))
		tracee->reason = SW_E_SKIPPED;
	if (tracee->reason != 0)
		tracee->phase = SW_TRACEE_LOST;
}

static void thread_init(struct sw_thread *t, pid_t tid)
{
	*t = (struct sw_thread){.tid = tid,
				.state = '?',
				.syscall = -1,
				.cpu_ns = -1,
				.stop_ns = -1,
				.since_ns = -1};
}

/* *ret_n: how many threads there are likely to be. */
static int arrays_create(struct sw_take *take, size_t *ret_n)
{
	struct sw_arena *arena = &take->snap->priv->arena;
	struct sw_stop *s = &take->stop;
	struct stat st;
	/* The directory's link count is 2 + the number of threads; some more may appear. */
	size_t n = fstat(s->task_fd, &st) == 0 && st.st_nlink > 2 ? st.st_nlink - 2 : 1;
	s->capacity = n + n / 4 + 256;
	if (s->capacity > take->options.max_threads)
		s->capacity = take->options.max_threads;
	s->tracees = sw_arena_alloc(arena, s->capacity * sizeof(*s->tracees));
	s->tids = sw_arena_alloc(arena, s->capacity * sizeof(*s->tids));
	s->pending = sw_arena_alloc(arena, s->capacity * sizeof(*s->pending));
	take->snap->threads = sw_arena_alloc(arena, s->capacity * sizeof(struct sw_thread));
	if (s->tracees == NULL || s->tids == NULL || s->pending == NULL ||
	    take->snap->threads == NULL)
		return sw_fail_nomem(take->err);
	for (size_t i = 0; i < s->capacity; i++)
		thread_init(&take->snap->threads[i], 0);
	*ret_n = n < s->capacity ? n : s->capacity;
	return 0;
}

static void describe_all(struct crew *crew)
{
	struct sw_take *take = crew->take;
	while (take->window == NULL) { /* else the iterator has said it */
		size_t first = atomic_fetch_add(&crew->next, CREW_SHARE);
		if (first >= crew->n)
			return;
		for (size_t i = first; i < crew->n && i < first + CREW_SHARE; i++) {
			struct sw_thread *t = &take->snap->threads[i];
			struct sw_proc_stat stat;
			thread_init(t, take->stop.tids[i]);
			if (!sw_take_describe(take, t, &stat))
				continue; /* its state stays '?' */
			if (t->tid == take->target->pid)
				take->leader = stat;
		}
	}
}

static void *help(void *arg)
{
	struct crew *crew = arg;
	sw_capture_space_warm(crew->take->space, crew->n);
	describe_all(crew);
	return NULL;
}

static void crew_start(struct crew *crew)
{
	if (crew->n >= CREW_MIN_THREADS)
		crew->helped =
			sw_urgent_beside(&crew->helper, help, crew, crew->n <= CREW_URGENT_THREADS);
}

/* Leaves out threads that ended before they were described. */
static void threads_keep(struct sw_take *take, size_t n)
{
	struct sw_snapshot *snap = take->snap;
	struct sw_stop *s = &take->stop;
	for (size_t i = 0; i < n; i++) {
		if (snap->threads[i].state == '?')
			continue;
		snap->threads[s->n] = snap->threads[i];
		tracee_init(take, &s->tracees[s->n], &snap->threads[s->n]);
		s->n++;
	}
	for (size_t i = s->n; i < n; i++)
		thread_init(&snap->threads[i], 0);
	snap->n_threads = s->n;
	snap->process.ppid = take->leader.ppid;
	memcpy(snap->process.comm, take->leader.comm, sizeof(snap->process.comm));
}

/* By /proc, where the iterator has not done it. */
static int threads_list(struct sw_take *take, size_t *ret_n)
{
	struct sw_stop *s = &take->stop;
	if (!sw_proc_tids(s->task_fd, s->tids, s->capacity, ret_n))
		return sw_fail(take->err, SW_E_EXITED, "process %d exited", take->target->pid);
	s->overflow = *ret_n > s->capacity;
	if (s->overflow)
		*ret_n = s->capacity;
	sw_urgent_spare(s->tids, *ret_n);
	return 0;
}

int sw_take_threads_and_maps(struct sw_take *take)
{
	struct sw_stop *s = &take->stop;
	struct crew crew = {.take = take};
	bool maps_first = take->program.begun; /* the kernel loads it meanwhile */
	int r = arrays_create(take, &crew.n);
	if (r == 0)
		r = sw_capture_space_create(take->snap, s, &take->options, crew.n, &take->space,
					    take->err);
	if (r == 0 && maps_first)
		r = sw_take_maps(take);
	if (r == 0)
		r = sw_take_link(take);
	if (r == 0 && take->link_fd >= 0)
		r = sw_take_first_pass(take, &crew.n);
	if (r == 0 && take->window == NULL)
		r = threads_list(take, &crew.n);
	if (r == 0 && !s->overflow)
		r = check_wanted(take, crew.n);
	if (r < 0)
		return r;
	if (take->window != NULL && !sw_target_stat(take->target, &take->leader))
		return sw_fail(take->err, SW_E_EXITED, "process %d exited", take->target->pid);
	crew_start(&crew);
	if (!maps_first)
		r = sw_take_maps(take);
	if (!crew.helped)
		sw_capture_space_warm(take->space, crew.n);
	describe_all(&crew);
	if (crew.helped)
		(void) pthread_join(crew.helper, NULL); /* ours and not yet joined: cannot fail */
	threads_keep(take, crew.n);
	return r;
}
