/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "snapshot/snapshot.h"
#include "capture/take.h"
#include "capture/before.h"
#include "capture/kernel.h"
#include "capture/reader.h"
#include "capture/returns.h"
#include "capture/touch.h"
#include "capture/touchless.h"
#include "capture/unfinished.h"
#include "capture/waits.h"
#include "cleanup.h"
#include "errors.h"

#include <snapwalk/clock.h>

enum {
	DEFAULT_MAX_STOP_MS = 100,
	DEFAULT_MAX_THREADS = 32768,
	DEFAULT_STACK_BYTES = 256 << 10,
	DEFAULT_TOTAL_BYTES = 512 << 20,
	MIN_STACK_BYTES = 4096,
	MAX_STOP_MS_LIMIT = 60000,
	NS_PER_MS = 1000000,
	DEFAULT_DESCRIBE_MS = 1000,
	TAKE_AGAIN_MAX = 3,
	CHANGED_AGAIN_MAX = 200,       /* where one program follows the other, */
	CHANGED_AGAIN_NS = 1000000000, /* and for how long */
	LATER_MAX = 2,
	LATER_MS = 20, /* a collection of .NET's takes a few */
};

static void take_deinit(struct sw_take *take)
{
	sw_snapshot_destroy(take->snap);
	sw_close_p(&take->stop.statm_fd);
	sw_close_p(&take->live_fd);
	sw_close_p(&take->link_fd);
	sw_iterate_loading_deinit(&take->program);
	sw_iterate_loading_deinit(&take->files);
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
	if (o.describe_ms == 0)
		o.describe_ms = DEFAULT_DESCRIBE_MS;
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

/* Stop all threads, which are held together. The reader is raised before: on a busy machine it
 * would wait for its turn meanwhile. */
static int stop_all(struct sw_take *take)
{
	sw_capture_touch_ready(take->space);
	sw_returns_begin(take->space->returns);
	int r = sw_stop_run(&take->stop, take->err);
	sw_take_reader_drop(take);
	sw_take_registers(take);
	sw_returns_put_back(take->space);
	for (size_t i = 0; r == 0 && i < take->stop.n; i++)
		take->snap->threads[i].stayed = true;
	return r;
}

static int take_once(struct sw_context *ctx, const struct sw_target *target,
		     const struct sw_snapshot_options *options, const struct sw_tables *tables,
		     bool careful, int64_t *stopped_ns, struct sw_snapshot **ret,
		     struct sw_error *err)
{
	int64_t begin_ns = sw_clock_ns();
	sw_cleanup(take_deinit) struct sw_take take = {.target = target,
						       .options = options_fill(options),
						       .stop.statm_fd = -EBADF,
						       .live_fd = -EBADF,
						       .link_fd = -EBADF,
						       .tables = tables,
						       .err = err};
	int r = sw_snapshot_create(ctx, &take.snap, err);
	if (r < 0)
		return r;
	take.snap->priv->pages.careful = careful;
	take.snap->priv->goroutines = take.options.goroutines;
	take.snap->priv->tasks = take.options.tasks;
	take.snap->priv->task_waits = take.options.peers;
	take.snap->priv->awaits = take.options.awaits;
	take.snap->priv->saved = take.options.saved;
	take.snap->priv->args = take.options.args;
	if (take.options.describe_ms != UINT32_MAX)
		take.describe_end_ns = begin_ns + (int64_t) take.options.describe_ms * NS_PER_MS;
	take.stop.task_fd = target->task_fd;
	take.stop.new_threads = take.options.tids == NULL && !take.options.running_only;
	take.stop.realtime = !take.options.no_realtime;
	take.stop.restart = take.options.restart;
	take.stop.max_stop_ns = (int64_t) take.options.max_stop_ms * NS_PER_MS;
	take.stop.stopped = sw_capture_reader_fill;
	take.stop.permit = take.options.permit;
	take.stop.permit_arg = take.options.permit_arg;
	sw_take_link_begin(&take);
	r = sw_take_before(&take);
	if (r == 0)
		sw_returns_prepare(&take);
	/* A thread of ours must not keep a window or a stop from its CPU. */
	sw_iterate_loading_wait(&take.files);
	if (r == 0)
		r = take.window != NULL ? sw_take_windows(&take) : stop_all(&take);
	if (r == 0 && !take.stop.refused && !take.stop.changed)
		sw_kernel_stacks_read(&take);
	sw_waits_restarted(take.snap->threads, take.snap->n_threads);
	sw_close_p(&take.link_fd); /* before anything of the target is parsed */
	if (take.space != NULL) {
		sw_returns_deinit(take.space->returns);
		sw_capture_touch_end(take.space);
	}
	*stopped_ns += take.stop.stopped_ns;
	if (r == 0 && take.stop.refused)
		r = sw_fail(err, SW_E_NOT_PERMITTED,
			    "process %d may not be captured by the one who asks", target->pid);
	if (r == 0)
		r = sw_take_after(&take);
	if (r < 0)
		return r;
	take.snap->times.take_ns = sw_clock_ns() - begin_ns;
	*ret = sw_take_ptr(take.snap);
	return 0;
}

/* The thread through which we looked may be gone, or all threads that we knew, with the process
 * still there: then once more from the start. */
static bool still_there(const struct sw_target *target)
{
	sw_cleanup(sw_close_p) int live_fd = sw_target_live_fd(target);
	return live_fd >= 0;
}

/* The cost to the target of a capture that is not used is added to the one that is. */
static void cost_add(struct sw_snapshot *snap, const struct sw_snapshot *unused)
{
	snap->times.stopped_ns += unused->times.stopped_ns;
	snap->times.copy_ns += unused->times.copy_ns;
	snap->times.take_ns += unused->times.take_ns;
	if (snap->times.longest_thread_ns < unused->times.longest_thread_ns)
		snap->times.longest_thread_ns = unused->times.longest_thread_ns;
	snap->interrupted_calls += unused->interrupted_calls;
}

/*
 * A page did not come, of memory that shows nothing of it (userfaultfd(2), a swap that does not answer),
 * and what was to be copied after it is missing. Once more, with only what is in memory.
 */
static void take_carefully(struct sw_context *ctx, struct sw_target *target,
			   const struct sw_snapshot_options *options,
			   const struct sw_tables *tables, struct sw_snapshot **snap)
{
	struct sw_snapshot *second = NULL;
	int64_t stopped_ns = 0;
	if (take_once(ctx, target, options, tables, true, &stopped_ns, &second, NULL) < 0)
		return; /* the first one it is */
	cost_add(second, *snap);
	sw_snapshot_warn(second, SW_WARN_STOP_TIMEOUT, 0, SW_E_STOP_TIMEOUT,
			 "pages did not come before the limit of the stop: taken once more, with "
			 "only what is in memory");
	sw_snapshot_destroy(*snap);
	*snap = second;
}

/* In a moment once more, and another time: the process is in a state that ends soon. */
static void take_later(struct sw_context *ctx, struct sw_target *target,
		       const struct sw_snapshot_options *options, const struct sw_tables *tables,
		       struct sw_snapshot **snap)
{
	const struct timespec moment = {.tv_nsec = LATER_MS * NS_PER_MS};
	for (int i = 0; i < LATER_MAX && (*snap)->priv->try_later; i++) {
		struct sw_snapshot_options left =
			options_fill(options); /* of the stop's limit, too */
		struct sw_snapshot *next = NULL;
		int64_t stopped_ns = 0,
			used_ms = ((*snap)->times.stopped_ns + NS_PER_MS - 1) / NS_PER_MS;
		if (used_ms >= (int64_t) left.max_stop_ms)
			return;
		left.max_stop_ms -= (unsigned) used_ms;
		(void) nanosleep(&moment, NULL); /* shorter: earlier */
		if (take_once(ctx, target, &left, tables, false, &stopped_ns, &next, NULL) < 0)
			return;
		if (next->priv->pages.stalled) { /* the one before it has more */
			sw_snapshot_destroy(next);
			return;
		}
		cost_add(next, *snap);
		sw_snapshot_destroy(*snap);
		*snap = next;
	}
}

/*
 * Another program began during the capture, and perhaps another one after it. The copy is not used;
 * the process is captured as it is now, if that is what the caller asked for: the caller who gives
 * permissions looked at the program that was. A stop takes no more than the limit in all.
 */
static bool is_worth_it_again(const struct sw_snapshot_options *options, int tries,
			      int64_t begin_ns, int64_t stopped_ns)
{
	const struct sw_snapshot_options o = options_fill(options);
	return o.permit == NULL && tries < CHANGED_AGAIN_MAX &&
	       stopped_ns < (int64_t) o.max_stop_ms * NS_PER_MS &&
	       sw_clock_ns() - begin_ns < CHANGED_AGAIN_NS;
}

int sw_capture_take(struct sw_context *ctx, struct sw_target *target,
		    const struct sw_snapshot_options *options, const struct sw_tables *tables,
		    struct sw_snapshot **ret, struct sw_error *err)
{
	int64_t begin_ns = sw_clock_ns(), stopped_ns = 0, of_last_ns = 0;
	int ended = 0, changed = 0, r;
	for (;;) {
		of_last_ns = 0;
		r = take_once(ctx, target, options, tables, false, &of_last_ns, ret, err);
		if (r == -SW_E_EXITED && ended++ < TAKE_AGAIN_MAX && still_there(target))
			continue;
		if (r != -SW_E_CHANGED)
			break;
		stopped_ns += of_last_ns;
		if (!is_worth_it_again(options, ++changed, begin_ns, stopped_ns))
			break;
	}
	if (r == -SW_E_CHANGED && changed > 1)
		return sw_fail(err, SW_E_CHANGED,
			       "process %d became another program during each of %d captures in "
			       "%d ms",
			       target->pid, changed,
			       (int) ((sw_clock_ns() - begin_ns) / NS_PER_MS));
	if (r < 0)
		return r;
	(*ret)->times.stopped_ns += stopped_ns;
	if ((*ret)->priv->pages.stalled)
		take_carefully(ctx, target, options, tables, ret);
	else
		take_later(ctx, target, options, tables, ret);
	return 0;
}
