/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Captures that are made once more, as a hook says that what it is for is not there just now. */
#include "capture/take.h"
#include "snapshot/snapshot.h"
#include "still_process.h"
#include "unwind/capture.h"
#include "unwind/tables.h"
#include "unwind/unwinder.h"
#include "test.h"

enum { THREADS = 2 };

static int n_windows, n_late; /* of which the first ones come at a bad time */

static bool probe(const struct sw_snapshot *snap)
{
	return true;
}

static int in_window(struct sw_capture *capture)
{
	capture->snap->priv->try_later = ++n_windows <= n_late;
	return 0;
}

static const struct sw_unwinder_ops busy = {.name = "busy", .probe = probe, .capture = in_window};
static const struct sw_unwinder_ops *const unwinders[] = {&busy};
static const struct sw_tables tables = {.unwinders = unwinders, .n_unwinders = 1};

static void windows_are(int late, enum sw_stop_mode stop, int wanted)
{
	struct sw_context *ctx;
	struct sw_target *target;
	struct sw_snapshot *snap;
	const struct sw_snapshot_options options = {.stop = stop, .max_stop_ms = 10000};
	pid_t pid = still_process_start(THREADS);
	still_process_wait(pid, THREADS);
	assert_int_equal(sw_context_create(&ctx, NULL), 0);
	assert_int_equal(sw_target_open(pid, &target, NULL), 0);
	n_windows = 0;
	n_late = late;
	assert_int_equal(sw_capture_take(ctx, target, &options, &tables, &snap, NULL), 0);
	assert_int_equal(n_windows, wanted);
	assert_int_equal(snap->priv->try_later, late >= wanted);
	assert_int_equal(snap->threads[0].captured, true);
	sw_snapshot_destroy(snap);
	sw_target_close(target);
	sw_context_destroy(ctx);
	still_process_end(pid);
}

/* All are stopped, so that each capture has one window. */
TEST(test_later)
{
	windows_are(0, SW_STOP_ALWAYS, 1);
	windows_are(1, SW_STOP_ALWAYS, 2);
	windows_are(2, SW_STOP_ALWAYS, 3);
	windows_are(9, SW_STOP_ALWAYS, 3);
}
