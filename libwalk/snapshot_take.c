/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "capture_room.h"
#include "cleanup.h"
#include "clock.h"
#include "errors.h"
#include "proc.h"
#include "target.h"
#include "text.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum {
	DEFAULT_MAX_STOP_MS = 100,
	DEFAULT_MAX_THREADS = 32768,
	DEFAULT_STACK_BYTES = 256 << 10,
	DEFAULT_TOTAL_BYTES = 512 << 20,
	MIN_STACK_BYTES = 4096,
	MAX_STOP_MS_LIMIT = 60000,
	MAPS_TEXT_MAX = 64 << 20,
	CGROUP_TEXT_MAX = 16 << 10,
	PATH_TEXT_MAX = 4096,
	STATUS_TEXT_MAX = 16 << 10,
};

SW_DEFINE_CLEANUP(struct sw_snapshot *, sw_snapshot_destroy);

/* One sw_snapshot_take(). */
struct take {
	const struct sw_target *target;
	struct sw_snapshot_options options;
	struct sw_snapshot *snap; /* owned until it is handed over */
	struct sw_stop stop;      /* its arrays are the snapshot's arena's */
	struct sw_capture_room *room;
	int live_fd; /* owned */
	uint64_t vsize_bytes;
	struct sw_error *err;
};

static void take_deinit(struct take *take)
{
	sw_snapshot_destroy(take->snap);
	sw_close_p(&take->live_fd);
}

static struct sw_snapshot_options options_fill(const struct sw_snapshot_options *given)
{
	struct sw_snapshot_options o = {0};
	if (given != NULL)
		o = *given;
	if (o.max_stop_ms == 0)
		o.max_stop_ms = DEFAULT_MAX_STOP_MS;
	if (o.max_stop_ms > MAX_STOP_MS_LIMIT)
		o.max_stop_ms = MAX_STOP_MS_LIMIT;
	if (o.stack_bytes == 0)
		o.stack_bytes = DEFAULT_STACK_BYTES;
	if (o.stack_bytes < MIN_STACK_BYTES)
		o.stack_bytes = MIN_STACK_BYTES;
	if (o.total_bytes == 0)
		o.total_bytes = DEFAULT_TOTAL_BYTES;
	if (o.max_threads == 0)
		o.max_threads = DEFAULT_MAX_THREADS;
	return o;
}

/* ---- before the stop ---------------------------------------------------------------------- */

static bool wanted(const struct take *take, const struct sw_thread *t)
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

/* What /proc says of a thread. False: it is gone. */
static bool thread_describe(const struct take *take, struct sw_thread *t,
			    struct sw_proc_stat *ret_stat)
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
	if (t->state == 'S' || t->state == 'D') {
		(void) snprintf(name, sizeof(name), "%d/wchan", (int) t->tid); /* fits */
		ssize_t n =
			sw_proc_read_small(take->target->task_fd, name, t->wchan, sizeof(t->wchan));
		if (n <= 0 || strcmp(t->wchan, "0") == 0)
			t->wchan[0] = '\0';
	}
	return true;
}

/* Decides from what is known before whether a thread is to be stopped. */
static void tracee_init(struct take *take, struct sw_tracee *tracee, const struct sw_thread *t)
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
	*t = (struct sw_thread){
		.tid = tid, .state = '?', .syscall = -1, .cpu_ns = -1, .stop_ns = -1};
}

static int arrays_create(struct take *take)
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
	return 0;
}

static int threads_list(struct take *take)
{
	struct sw_stop *s = &take->stop;
	struct sw_snapshot *snap = take->snap;
	size_t listed;
	int r = arrays_create(take);
	if (r < 0)
		return r;
	if (!sw_proc_tids(s->task_fd, s->tids, s->capacity, &listed))
		return sw_fail(take->err, SW_E_EXITED, "process %d exited", take->target->pid);
	s->overflow = listed > s->capacity;
	for (size_t i = 0; i < listed && i < s->capacity; i++) {
		struct sw_thread *t = &snap->threads[s->n];
		struct sw_proc_stat stat;
		thread_init(t, s->tids[i]);
		if (!thread_describe(take, t, &stat))
			continue;
		take->vsize_bytes = stat.vsize_bytes;
		if (t->tid == snap->process.pid) {
			snap->process.ppid = stat.ppid;
			memcpy(snap->process.comm, stat.comm, sizeof(stat.comm));
		}
		tracee_init(take, &s->tracees[s->n++], t);
	}
	snap->n_threads = s->n;
	return 0;
}

static const char *keep_text(struct take *take, const char *s, size_t length)
{
	const char *kept = sw_arena_strndup(&take->snap->priv->arena, s, length);
	return kept != NULL ? kept : "";
}

static void process_describe(struct take *take)
{
	const struct sw_target *target = take->target;
	struct sw_process *p = &take->snap->process;
	char text[STATUS_TEXT_MAX];
	uint64_t uid;
	*p = (struct sw_process){.pid = target->pid,
				 .starttime = target->starttime,
				 .elf_class = 64,
				 .exe = "",
				 .cgroup = ""};
	if (sw_proc_read_small(target->proc_fd, "status", text, sizeof(text)) > 0 &&
	    sw_proc_status_number(text, "Uid", &uid))
		p->uid = (uid_t) uid;
	struct timespec now;
	(void) clock_gettime(CLOCK_BOOTTIME, &now);
	p->uptime_ms = (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000 -
		       (int64_t) (target->starttime * 1000 / (uint64_t) sysconf(_SC_CLK_TCK));
	ssize_t n = readlinkat(take->live_fd, "exe", text, PATH_TEXT_MAX);
	if (n > 0)
		p->exe = keep_text(take, text, (size_t) n);
	const char *path;
	size_t length;
	if (sw_proc_read_small(target->proc_fd, "cgroup", text, CGROUP_TEXT_MAX) > 0 &&
	    sw_proc_cgroup_find(text, &path, &length))
		p->cgroup = keep_text(take, path, length);
}

/* Maps and modules, as they are now. */
static int maps_read(struct take *take)
{
	struct sw_snapshot *snap = take->snap;
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	struct sw_map *maps;
	size_t n, bad;
	int r = sw_text_read_at(&text, take->live_fd, "maps", MAPS_TEXT_MAX);
	if (r == -SW_E_IO)
		return errno == EACCES || errno == EPERM
			       ? sw_target_denied(take->target, take->target->pid, take->err)
			       : sw_fail_errno(take->err, SW_E_EXITED, "process %d: maps",
					       take->target->pid);
	if (r == 0)
		r = sw_maps_parse(&snap->priv->arena, text.data, text.size, &maps, &n, &bad);
	if (r < 0)
		return sw_fail(take->err, -r, "process %d: maps: %s", take->target->pid,
			       sw_error_text(r));
	if (n == 0)
		return sw_fail(take->err, SW_E_EXITED, "process %d has no memory any more",
			       take->target->pid);
	snap->maps = maps;
	snap->n_maps = n;
	if (bad > 0)
		sw_snapshot_warn(snap, SW_WARN_MEMORY, 0, SW_E_FORMAT,
				 "%zu lines of maps could not be read", bad);
	sw_cleanup(sw_live_deinit) struct sw_live live;
	sw_live_init(&live, take->target, take->live_fd, snap->priv->mem_fd, snap);
	const struct sw_opener opener = sw_live_opener(&live);
	return sw_snapshot_find_places(snap, &opener, take->err);
}

static int prepare(struct take *take)
{
	struct sw_snapshot *snap = take->snap;
	snap->live = true;
	take->live_fd = sw_target_live_fd(take->target);
	if (take->live_fd < 0)
		return sw_fail(take->err, SW_E_EXITED, "process %d has exited", take->target->pid);
	process_describe(take);
	snap->priv->mem_fd = openat(take->live_fd, "mem", O_RDONLY | O_CLOEXEC);
	if (snap->priv->mem_fd < 0 && (errno == EACCES || errno == EPERM))
		return sw_target_denied(take->target, take->target->pid, take->err);
	take->stop.mem_fd = snap->priv->mem_fd;
	int r = threads_list(take);
	if (r == 0)
		r = maps_read(take);
	if (r < 0)
		return r;
	for (size_t i = 0; i < snap->n_maps && take->stop.known_avma == 0; i++)
		if (snap->maps[i].prot & SW_MAP_READ)
			take->stop.known_avma = snap->maps[i].start_avma;
	return sw_capture_room_create(snap, &take->stop, &take->options, take->stop.n, &take->room,
				      take->err);
}

/* ---- after the stop ----------------------------------------------------------------------- */

static void warn_missing(struct take *take, const struct sw_thread *t)
{
	struct sw_snapshot *snap = take->snap;
	const char *in = t->wchan[0] != '\0' ? " in " : "";
	switch (t->reason) {
	case SW_E_STOP_TIMEOUT:
		sw_snapshot_warn(snap, SW_WARN_THREAD_MISSING, t->tid, t->reason,
				 "thread %d (%s) did not stop in time: state %c%s%s", t->tid,
				 t->comm, t->state, in, t->wchan);
		break;
	case SW_E_TRACED:
	case SW_E_NOT_PERMITTED: {
		struct sw_error why;
		(void) sw_target_denied(take->target, t->tid, &why); /* fills why */
		sw_snapshot_warn(snap, SW_WARN_THREAD_MISSING, t->tid, t->reason,
				 "thread %d (%s): %s", t->tid, t->comm, why.message);
		break;
	}
	default:
		sw_snapshot_warn(snap, SW_WARN_THREAD_MISSING, t->tid, t->reason,
				 "thread %d (%s): %s", t->tid, t->comm, sw_error_text(t->reason));
	}
}

/* What became of a thread in the stop. */
static void thread_finish(struct take *take, struct sw_thread *t, struct sw_tracee *tracee)
{
	struct sw_snapshot *snap = take->snap;
	struct sw_proc_stat stat;
	int64_t end_ns = tracee->release_ns != 0 ? tracee->release_ns : sw_clock_ns();
	if (tracee->fresh && thread_describe(take, t, &stat) && (t->flags & SW_PF_IO_WORKER)) {
		tracee->has_regs = false;
		tracee->reason = SW_E_IO_WORKER;
	}
	t->captured = tracee->has_regs;
	t->reason = tracee->reason;
	if (t->captured || tracee->release_ns != 0)
		t->stop_ns = end_ns - tracee->interrupt_ns;
	if (t->stop_ns > snap->times.longest_thread_ns)
		snap->times.longest_thread_ns = t->stop_ns;
	if (!t->captured && t->reason == 0)
		t->reason = SW_E_STOP_TIMEOUT;
	if (t->reason == SW_E_NOT_PERMITTED)
		t->reason = -sw_target_denied(take->target, t->tid, NULL);
	if (t->reason != 0 && t->reason != SW_E_SKIPPED && t->reason != SW_E_IO_WORKER)
		warn_missing(take, t);
	if (!tracee->visible)
		return;
	t->interrupted = true;
	snap->interrupted_calls++;
	sw_snapshot_warn(snap, SW_WARN_INTERRUPTED, t->tid, 0,
			 "thread %d (%s): its system call %ld returns EINTR because of the stop",
			 t->tid, t->comm, (long) t->syscall);
}

static void warn_limits(struct take *take)
{
	struct sw_snapshot *snap = take->snap;
	if (take->stop.overflow)
		sw_snapshot_warn(snap, SW_WARN_THREAD_MISSING, 0, SW_E_LIMIT,
				 "more threads than the limit of %zu", take->options.max_threads);
	if (take->stop.timed_out)
		sw_snapshot_warn(snap, SW_WARN_STOP_TIMEOUT, 0, SW_E_STOP_TIMEOUT,
				 "the limit of %u ms for the stop was reached: everything was "
				 "released",
				 take->options.max_stop_ms);
	for (size_t i = 0; i < snap->n_threads; i++) {
		const struct sw_thread *t = &snap->threads[i];
		if (t->captured && t->stack_bytes == 0)
			sw_snapshot_warn(snap, SW_WARN_MEMORY, t->tid, SW_E_MEMORY,
					 "thread %d (%s): its stack was not copied", t->tid,
					 t->comm);
		else if (t->captured && t->stack_bytes >= take->options.stack_bytes)
			sw_snapshot_warn(snap, SW_WARN_STACK_LIMIT, t->tid, SW_E_LIMIT,
					 "thread %d (%s): only the first %zu bytes of its stack "
					 "were copied",
					 t->tid, t->comm, t->stack_bytes);
	}
}

/* The maps were read before the stop. When they changed since, the newer ones are better: what
 * was mapped at the stop is nearly always still there. */
static bool maps_are_old(struct take *take)
{
	struct sw_snapshot *snap = take->snap;
	struct sw_proc_stat stat;
	for (size_t i = 0; i < snap->n_threads; i++) {
		const struct sw_thread *t = &snap->threads[i];
		if (!t->captured)
			continue;
		const struct sw_map *code = sw_snapshot_map(snap, t->regs.pc_avma);
		if (t->stack_end_avma == 0 || code == NULL || !(code->prot & SW_MAP_EXEC))
			return true;
	}
	return sw_proc_stat_read(take->live_fd, "stat", &stat) &&
	       stat.vsize_bytes != take->vsize_bytes;
}

static int maps_renew(struct take *take)
{
	struct sw_snapshot *snap = take->snap;
	struct sw_map *maps = snap->maps;
	struct sw_place *places = snap->places;
	size_t n_maps = snap->n_maps, n_places = snap->n_places;
	char byte;
	int r = maps_read(take);
	if (r == -SW_E_NOMEM)
		return r;
	/* Gone or another program by now: the older ones it is. */
	if (r < 0 || pread(snap->priv->mem_fd, &byte, 1, (off_t) take->stop.known_avma) == 0) {
		snap->maps = maps;
		snap->n_maps = n_maps;
		snap->places = places;
		snap->n_places = n_places;
	}
	for (size_t i = 0; i < snap->n_threads; i++) {
		struct sw_thread *t = &snap->threads[i];
		const struct sw_map *map = sw_snapshot_map(snap, t->regs.sp_avma);
		if (t->captured && t->stack_end_avma == 0 && map != NULL)
			t->stack_end_avma = map->end_avma;
	}
	return 0;
}

/* Nothing was captured: the error is what kept us from the first thread that was asked for. */
static int fail_all(struct take *take)
{
	const struct sw_snapshot *snap = take->snap;
	int reason = 0;
	pid_t pid = take->target->pid, tid = pid;
	for (size_t i = 0; i < snap->n_threads; i++) {
		const struct sw_thread *t = &snap->threads[i];
		if (t->captured || t->reason == SW_E_SKIPPED)
			return 0;
		if (reason == 0 || reason == SW_E_EXITED || reason == SW_E_ZOMBIE ||
		    reason == SW_E_IO_WORKER) {
			reason = t->reason;
			tid = t->tid;
		}
	}
	if (take->stop.changed)
		return sw_fail(take->err, SW_E_CHANGED,
			       "process %d became another program meanwhile", pid);
	switch (reason) {
	case SW_E_TRACED:
	case SW_E_NOT_PERMITTED: return sw_target_denied(take->target, tid, take->err);
	case SW_E_STOP_TIMEOUT: {
		const struct sw_thread *t = NULL;
		for (size_t i = 0; i < snap->n_threads; i++)
			if (snap->threads[i].tid == tid)
				t = &snap->threads[i];
		return sw_fail(take->err, SW_E_STOP_TIMEOUT,
			       "process %d: no thread stopped within %u ms (state %c %s)", pid,
			       take->options.max_stop_ms, t->state, t->wchan);
	}
	case SW_E_ARCH:
		return sw_fail(take->err, SW_E_ARCH,
			       "process %d runs 32-bit code: only 64-bit x86 code can be captured",
			       pid);
	default: return sw_fail(take->err, SW_E_EXITED, "process %d exited meanwhile", pid);
	}
}

static int finish(struct take *take)
{
	struct sw_snapshot *snap = take->snap;
	struct sw_stop *s = &take->stop;
	snap->n_threads = s->n;
	snap->time_ns = s->time_ns;
	snap->times.attach_ns = s->attach_ns;
	snap->times.stopped_ns = s->stopped_ns;
	snap->times.copy_ns = s->copy_ns;
	for (size_t i = 0; i < s->n; i++) {
		snap->threads[i].tid = s->tracees[i].tid;
		thread_finish(take, &snap->threads[i], &s->tracees[i]);
	}
	sw_capture_room_finish(take->room);
	int r = fail_all(take);
	if (r < 0)
		return r;
	warn_limits(take);
	if (maps_are_old(take))
		r = maps_renew(take);
	sw_snapshot_index(snap);
	return r;
}

int sw_snapshot_take(struct sw_context *ctx, struct sw_target *target,
		     const struct sw_snapshot_options *options, struct sw_snapshot **ret,
		     struct sw_error *err)
{
	int64_t begin_ns = sw_clock_ns();
	sw_cleanup(take_deinit) struct take take = {.target = target,
						    .options = options_fill(options),
						    .live_fd = -EBADF,
						    .err = err};
	int r = sw_snapshot_create(ctx, &take.snap, err);
	if (r < 0)
		return r;
	take.stop.task_fd = target->task_fd;
	take.stop.new_threads = take.options.tids == NULL && !take.options.running_only;
	take.stop.realtime = !take.options.no_realtime;
	take.stop.restart = take.options.restart;
	take.stop.max_stop_ns = (int64_t) take.options.max_stop_ms * 1000000;
	take.stop.stopped = sw_capture_room_fill;
	r = prepare(&take);
	if (r < 0)
		return r;
	take.stop.arg = take.room;
	r = sw_stop_run(&take.stop, err);
	if (r == 0)
		r = finish(&take);
	if (r < 0)
		return r;
	take.snap->times.take_ns = sw_clock_ns() - begin_ns;
	*ret = sw_take_ptr(take.snap);
	return 0;
}
