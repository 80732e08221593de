/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Captures that are made once more: when, how often, with which limit, and what is told of those that are not used. */
#include "capture/take.h"
#include "capture/space.h"
#include "fake_kernel.h"
#include "fake_process.h"
#include "errors.h"
#include "snapshot/snapshot.h"
#include "test.h"

enum { TRIES_MAX = 8, MAX_STOP_MS = 100, MS = 1000000 };

/* How a capture ends. */
struct outcome {
	int r;
	bool stalled, later;
	int64_t stopped_ms;
	size_t interrupted;
};

static const struct outcome *outcomes; /* the last one comes again and again */
static size_t n_outcomes, n_takes;
static unsigned limit_ms[TRIES_MAX];
static bool careful[TRIES_MAX];
static struct sw_error err;

static int before(struct sw_take *take)
{
	static struct sw_capture_space space;
	static uint32_t pending[1];
	static struct sw_tracee tracees[1];
	space = (struct sw_capture_space){.snap = take->snap, .stop = &take->stop};
	take->space = &space;
	take->stop.pending = pending;
	take->stop.tracees = tracees;
	take->stop.mem_fd = take->stop.pagemap_fd = -EBADF;
	return 0;
}

static int after(struct sw_take *take)
{
	const struct outcome *o = &outcomes[n_takes < n_outcomes ? n_takes : n_outcomes - 1];
	assert_true(n_takes < TRIES_MAX);
	limit_ms[n_takes] = take->options.max_stop_ms;
	careful[n_takes++] = take->snap->priv->pages.careful;
	take->snap->priv->pages.stalled = o->stalled;
	take->snap->priv->try_later = o->later;
	take->snap->times.stopped_ns = o->stopped_ms * MS;
	take->snap->interrupted_calls = o->interrupted;
	return o->r < 0 ? sw_fail(take->err, -o->r, "as it is") : 0;
}

static void look(size_t number, struct fake_look *ret)
{
	ret->n = 0;
}

static bool permit(void *arg, int fd)
{
	return fd >= 0;
}

static int take(const struct outcome *all, size_t n, bool ended, bool with_permit,
		struct sw_snapshot **ret)
{
	static struct sw_context *ctx;
	struct sw_target target = {.pid = 11, .pidfd = -EBADF, .task_fd = FAKE_TASK_FD};
	const struct sw_snapshot_options options = {.stop = SW_STOP_ALWAYS,
						    .max_stop_ms = MAX_STOP_MS,
						    .no_realtime = true,
						    .permit = with_permit ? permit : NULL};
	if (ctx == NULL)
		assert_int_equal(sw_context_create(&ctx, NULL), 0);
	outcomes = all;
	n_outcomes = n;
	n_takes = 0;
	fake_kernel = (struct fake_kernel){0};
	fake_process = (struct fake_process){.look = look,
					     .before = before,
					     .after = after,
					     .ended = ended};
	int r = sw_capture_take(ctx, &target, &options, NULL, ret, &err);
	fake_process = (struct fake_process){0};
	return r;
}

/* The thread through which it was looked at has ended, and others are there. */
TEST(test_ended)
{
	static const struct outcome twice[] = {{.r = -SW_E_EXITED}, {.r = -SW_E_EXITED}, {.r = 0}};
	struct sw_snapshot *snap;
	assert_int_equal(take(twice, 3, false, false, &snap), 0);
	assert_int_equal(n_takes, 3);
	sw_snapshot_destroy(snap);
	assert_int_equal(take(twice, 1, false, false, &snap), -SW_E_EXITED);
	assert_int_equal(n_takes, 4);
	assert_int_equal(take(twice, 3, true, false, &snap), -SW_E_EXITED);
	assert_int_equal(n_takes, 1);
}

/* Another program is captured in place of the one that was; not by who was permitted the one that was. */
TEST(test_changed)
{
	static const struct outcome once[] = {{.r = -SW_E_CHANGED}, {.r = 0}};
	struct sw_snapshot *snap;
	assert_int_equal(take(once, 2, false, false, &snap), 0);
	assert_int_equal(n_takes, 2);
	sw_snapshot_destroy(snap);
	assert_int_equal(take(once, 2, false, true, &snap), -SW_E_CHANGED);
	assert_int_equal(n_takes, 1);
}

/* Pages did not come: once more without them, and what both cost is told. */
TEST(test_stalled)
{
	static const struct outcome all[] = {{.stalled = true, .stopped_ms = 90, .interrupted = 2},
					     {.stopped_ms = 5, .interrupted = 1}};
	struct sw_snapshot *snap;
	assert_int_equal(take(all, 2, false, false, &snap), 0);
	assert_int_equal(n_takes, 2);
	assert_false(careful[0]);
	assert_true(careful[1]);
	assert_int_equal(snap->interrupted_calls, 3);
	assert_int_equal(snap->times.stopped_ns, 95 * MS);
	assert_int_equal(snap->n_warnings, 1);
	sw_snapshot_destroy(snap);
}

/* In a state that ends soon: the later captures have what is left of the limit, if any is. */
TEST(test_later)
{
	static const struct outcome all[] = {{.later = true, .stopped_ms = 30, .interrupted = 1},
					     {.later = true, .stopped_ms = 80},
					     {.r = 0}};
	struct sw_snapshot *snap;
	assert_int_equal(take(all, 3, false, false, &snap), 0);
	assert_int_equal(n_takes, 2);
	assert_int_equal(limit_ms[0], MAX_STOP_MS);
	assert_int_equal(limit_ms[1], MAX_STOP_MS - 30);
	assert_int_equal(snap->times.stopped_ns, 110 * MS);
	assert_int_equal(snap->interrupted_calls, 1);
	sw_snapshot_destroy(snap);
}
