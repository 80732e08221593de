/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/threads.h"
#include "cleanup.h"
#include "errors.h"

#include <snapwalk/clock.h>
#include <snapwalk/thread_ends.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

enum { RECENT = 1024 /* ends that are remembered: the list may still have the thread */ };

struct thread {
	pid_t tid;
	bool before;           /* it was there before */
	uint32_t index;        /* of the row */
	uint64_t pointer_avma; /* thread pointer; 0: not known */
	int64_t acquired_ns;
};

struct table {
	struct thread *all; /* owned */
	size_t n, max;
};

struct threads {
	struct sw_held held;
	struct table running; /* by tid */
	struct table ended;   /* by thread pointer; nobody was seen to have the same one since */
	struct table listed;  /* in the end: only tid is set */
	pid_t recent[RECENT];
	size_t n_recent; /* ends so far */
};

/* ---- storage ---------------------------------------------------------------------------------- */

static void destroy(struct sw_held *held)
{
	struct threads *t = (struct threads *) held;
	free(t->running.all);
	free(t->ended.all);
	free(t->listed.all);
	sw_held_deinit(&t->held);
	free(t);
}

/* Where it stands or would stand. */
static size_t place(const struct table *table, uint64_t key, bool by_pointer)
{
	size_t low = 0, high = table->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct thread *at = &table->all[middle];
		if ((by_pointer ? at->pointer_avma : (uint64_t) at->tid) < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int insert(struct table *table, size_t at, const struct thread *thread)
{
	struct thread *grown = sw_grow(table->all, table->n, &table->max, 64, sizeof(*grown));
	if (grown == NULL)
		return -SW_E_NOMEM;
	table->all = grown;
	memmove(&grown[at + 1], &grown[at], (table->n - at) * sizeof(*grown));
	grown[at] = *thread;
	table->n++;
	return 0;
}

static void take_out(struct table *table, size_t at)
{
	table->n--;
	memmove(&table->all[at], &table->all[at + 1], (table->n - at) * sizeof(*table->all));
}

static struct thread *running_find(const struct threads *t, pid_t tid)
{
	size_t at = place(&t->running, (uint64_t) tid, false);
	return at < t->running.n && t->running.all[at].tid == tid ? &t->running.all[at] : NULL;
}

/* ---- lists ------------------------------------------------------------------------------------ */

static int list_read(struct sw_held *held, struct sw_error *err)
{
	struct threads *t = (struct threads *) held;
	static const char cannot[] = "its threads cannot be listed";
	sw_cleanup(sw_close_p) int fd =
		openat(t->held.run->proc_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;
	int r = 0;
	if (directory == NULL)
		return sw_fail_errno(err, SW_E_IO, "%s", cannot);
	(void) sw_take_fd(fd); /* the directory's */
	t->listed.n = 0;
	while (r == 0 && (errno = 0, entry = readdir(directory)) != NULL) {
		char *end;
		unsigned long n = strtoul(entry->d_name, &end, 10);
		if (end == entry->d_name || *end != '\0' || n > INT32_MAX)
			continue;
		const struct thread thread = {.tid = (pid_t) n, .before = true};
		size_t at = place(&t->listed, n, false);
		if (insert(&t->listed, at, &thread) < 0)
			r = sw_fail_nomem(err);
	}
	if (r == 0 && errno != 0)
		r = sw_fail_errno(err, SW_E_IO, "%s", cannot);
	(void) closedir(directory); /* nothing was written */
	held->n_there = t->listed.n;
	return r;
}

static int create(struct sw_event_run *run, struct sw_held **ret, struct sw_error *err)
{
	struct threads *t = calloc(1, sizeof(*t));
	if (t == NULL)
		return sw_fail_nomem(err);
	int r = sw_held_init(&t->held, &sw_held_threads, run);
	r = r < 0 ? sw_fail_nomem(err) : list_read(&t->held, err);
	if (r < 0) {
		destroy(&t->held);
		return r;
	}
	t->running = t->listed;
	t->listed = (struct table){0}; /* from now on that of the end */
	t->held.listed_ns = sw_clock_ns();
	*ret = &t->held;
	return 0;
}

/* ---- events ----------------------------------------------------------------------------------- */

/* The stack of an ended thread was given back, as another thread has it: somebody has joined it, or it was detached. */
static void ended_forget(struct threads *t, uint64_t pointer_avma)
{
	size_t at = place(&t->ended, pointer_avma, true);
	if (pointer_avma == 0 || at >= t->ended.n || t->ended.all[at].pointer_avma != pointer_avma)
		return;
	sw_held_released(&t->held, t->ended.all[at].index);
	take_out(&t->ended, at);
}

static int end(struct threads *t, pid_t tid)
{
	size_t at = place(&t->running, (uint64_t) tid, false);
	t->recent[t->n_recent++ % RECENT] = tid;
	if (at >= t->running.n || t->running.all[at].tid != tid)
		return 0;
	const struct thread thread = t->running.all[at];
	take_out(&t->running, at);
	if (thread.before) {
		t->held.before_released++;
		return 0;
	}
	ended_forget(t, thread.pointer_avma);
	if (thread.pointer_avma == 0) {
		sw_held_released(&t->held, thread.index);
		return 0;
	}
	return insert(&t->ended, place(&t->ended, thread.pointer_avma, true), &thread);
}

static int begin(struct threads *t, const struct sw_event *e, uint32_t index)
{
	const struct sw_event_handle *handle = &e->handles[0];
	const pid_t tid = (pid_t) handle->number;
	struct thread *maker = running_find(t, e->tid), *old = running_find(t, tid);
	if (maker != NULL && maker->before)
		maker->pointer_avma = handle->maker_avma;
	/* A thread that was listed may have been made after events had begun. */
	if (old != NULL && old->before && e->time_ns <= t->held.listed_ns)
		take_out(&t->running, (size_t) (old - t->running.all));
	else if (old != NULL && end(t, tid) < 0) /* the event of its end was lost */
		return -SW_E_NOMEM;
	sw_held_acquired(&t->held, index, e);
	ended_forget(t, handle->pointer_avma);
	const struct thread thread = {
		.tid = tid,
		.index = index,
		/* A thread without a pointer of its own yet has its maker's. */
		.pointer_avma =
			handle->pointer_avma != handle->maker_avma ? handle->pointer_avma : 0,
		.acquired_ns = e->time_ns};
	return insert(&t->running, place(&t->running, handle->number, false), &thread);
}

/* After execve(2) there is one thread, which has the number of the process, and no memory of before. */
static int program(struct threads *t, pid_t tid)
{
	bool known = running_find(t, tid) != NULL;
	for (size_t i = 0; i < t->ended.n; i++)
		sw_held_released(&t->held, t->ended.all[i].index);
	t->ended.n = 0;
	for (size_t i = 0; i < t->running.n; i++) {
		const struct thread *thread = &t->running.all[i];
		if (thread->tid == tid)
			continue;
		t->held.before_released += thread->before;
		if (!thread->before)
			sw_held_released(&t->held, thread->index);
	}
	t->running.n = 0;
	t->held.before_released -= !known && t->held.before_released > 0; /* it goes on */
	return insert(&t->running, 0, &(struct thread){.tid = tid, .before = true});
}

static int event(void *arg, const struct sw_event *e, uint32_t row, struct sw_error *err)
{
	struct threads *t = arg;
	uint32_t index = 0;
	int r = sw_held_index(&t->held, row, &index);
	if (r == 0 && e->n_handles == 1 && e->kind == SW_EVENT_ACQUIRED)
		r = begin(t, e, index);
	else if (r == 0 && e->n_handles == 1 && e->kind == SW_EVENT_RELEASED)
		r = end(t, (pid_t) e->handles[0].number);
	else if (r == 0 && e->n_handles == 1 && e->kind == SW_EVENT_PROGRAM)
		r = program(t, (pid_t) e->handles[0].number);
	return r < 0 ? sw_fail_nomem(err) : 0;
}

/* ---- the end ---------------------------------------------------------------------------------- */

static bool has_ended(const struct threads *t, pid_t tid)
{
	for (size_t i = 0; i < RECENT && i < t->n_recent; i++)
		if (t->recent[i] == tid)
			return true;
	return false;
}

/* The list has some that have ended: the first thread as long as there is another, others until the kernel is done. */
static void compare_with_list(struct threads *t)
{
	for (size_t i = 0; i < t->listed.n; i++) {
		pid_t tid = t->listed.all[i].tid;
		t->held.unknown_origin += running_find(t, tid) == NULL && !has_ended(t, tid) &&
					  tid != t->held.run->subject.pid;
	}
	for (size_t i = 0; i < t->running.n;) {
		const struct thread *thread = &t->running.all[i];
		size_t at = place(&t->listed, (uint64_t) thread->tid, false);
		bool listed = at < t->listed.n && t->listed.all[at].tid == thread->tid;
		if (listed || thread->acquired_ns > t->held.check_ns) {
			i++;
			continue;
		}
		t->held.closed_unseen++;
		if (!thread->before)
			t->held.rows[thread->index].unseen++;
		take_out(&t->running, i);
	}
}

static int compare_ends(const void *a, const void *b)
{
	const struct sw_thread_end *x = a, *y = b;
	return x->pointer_avma < y->pointer_avma ? -1 : x->pointer_avma > y->pointer_avma;
}

/* The C library's threads. As sw_thread_ends(). */
static int ends_read(const struct threads *t, struct sw_thread_end **ret, size_t *ret_n)
{
	sw_cleanup(sw_free_p) uint64_t *running = calloc(t->running.n + 1, sizeof(*running));
	size_t n = 0;
	if (running == NULL)
		return -SW_E_NOMEM;
	for (size_t i = 0; i < t->running.n; i++)
		if (t->running.all[i].pointer_avma != 0)
			running[n++] = t->running.all[i].pointer_avma;
	int r = sw_thread_ends(t->held.run->proc_fd, running, n, ret, ret_n);
	if (r == 0 && *ret_n > 0)
		qsort(*ret, *ret_n, sizeof(**ret), compare_ends);
	return r;
}

/* Each that has ended is outstanding, or was given up. Where that is not known it counts as given up. */
static int ended_judge(struct threads *t)
{
	sw_cleanup(sw_free_p) struct sw_thread_end *ends = NULL;
	size_t n = 0;
	int r = t->ended.n > 0 && !t->held.run->ended ? ends_read(t, &ends, &n) : 0;
	if (r == -SW_E_NOMEM)
		return r;
	t->held.joins_unknown = r < 0 ? t->ended.n : 0;
	r = 0;
	for (size_t i = 0; r == 0 && i < t->ended.n; i++) {
		const struct thread *thread = &t->ended.all[i];
		const struct sw_thread_end key = {.pointer_avma = thread->pointer_avma};
		const struct sw_thread_end *found =
			n > 0 ? bsearch(&key, ends, n, sizeof(*ends), compare_ends) : NULL;
		if (found == NULL || !found->has_ended) {
			sw_held_released(&t->held, thread->index);
			continue;
		}
		t->held.not_joined++;
		t->held.rows[thread->index].not_joined++;
		r = sw_held_put(&t->held, thread->index, thread->acquired_ns, 0);
	}
	return r;
}

static int list(struct sw_held *held)
{
	struct threads *t = (struct threads *) held;
	if (held->check_ns != 0)
		compare_with_list(t);
	int r = ended_judge(t);
	for (size_t i = 0; r == 0 && i < t->running.n; i++) {
		const struct thread *thread = &t->running.all[i];
		held->before += thread->before;
		if (!thread->before)
			r = sw_held_put(held, thread->index, thread->acquired_ns, 0);
	}
	return r;
}

const struct sw_held_kind sw_held_threads = {.name = "threads",
					     .events = SW_EVENT_THREAD_LIVES,
					     .noun = "thread",
					     .file = "task",
					     .got = "made",
					     .there = "there",
					     .unseen = "ended unseen",
					     .create = create,
					     .destroy = destroy,
					     .event = event,
					     .read = list_read,
					     .list = list};
