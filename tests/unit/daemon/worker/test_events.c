/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The end of events, with a recorder and a clock that are played here: the file under test is included, and asks these
 * functions instead. tests/live/test_daemon_events.py has real ones.
 */
#include "worker/capture.h"
#include "worker/ids.h"
#include "worker/life.h"
#include "worker/wire.h"

#include <snapwalk/clock.h>
#include <snapwalk/event_text.h>
#include <snapwalk/recorder.h>

static int64_t played_clock(void);
static bool played_wait(const struct sw_worker_life *life, int stream, int64_t when_ns);
static int played_sample(struct sw_recorder *recorder, struct sw_error *err);
static const struct sw_recorder_totals *played_totals(const struct sw_recorder *recorder);
static bool played_ended(const struct sw_recorder *recorder);
static void played_stop(struct sw_recorder *recorder);
static void played_drop(struct sw_recorder *recorder);
static bool played_same(const struct sw_worker_ids *ids);
static bool played_differ(const struct sw_worker_ids *ids);
static int played_json(const struct sw_report *report, const struct sw_report_stack *stack,
		       char **ret_text, size_t *ret_size, struct sw_error *err);
static int played_write(int stream, enum sw_worker_event_type type, const void *payload,
			size_t size, struct sw_error *err);

static const struct sw_report *played_report(const struct sw_recorder *recorder);
static int played_dump(const struct sw_worker *worker, const struct sw_report *report,
		       struct sw_error *err);

#define sw_recorder_report      played_report
#define sw_worker_report_send   played_dump
#define sw_clock_ns             played_clock
#define sw_worker_life_wait     played_wait
#define sw_recorder_sample      played_sample
#define sw_recorder_totals(r)   played_totals(r)
#define sw_recorder_has_ended   played_ended
#define sw_recorder_stop_events played_stop
#define sw_recorder_drop_events played_drop
#define sw_worker_ids_are_same  played_same
#define sw_worker_ids_differ    played_differ
#define sw_worker_event_write   played_write
#define sw_report_stack_json    played_json
#include "worker/events.c"
#include "test.h"

enum { EVENT_NS = 10000000, FETCHES_MAX = 100000, STREAM = 42 };

static struct {
	int64_t now_ns;
	uint64_t in_ring, n_at_once; /* events; the most of one look */
	size_t n_looks;
	int code;          /* of each look, after its events */
	uint32_t row;      /* of each event */
	bool over, others; /* the time is up; the process has other users */
	bool dies;         /* events are its death, and its ids cannot be read any more */
	bool stopped;
	struct sw_recorder_totals totals;
	uint64_t n_told, lost_told;
	size_t n_dumps;
	char reason[64]; /* of the last dump */
} played;
static struct sw_report seen; /* by the recorder */
static struct events run_of;
static struct sw_worker worker;

static int64_t played_clock(void)
{
	return played.now_ns;
}

static bool played_wait(const struct sw_worker_life *life, int stream, int64_t when_ns)
{
	assert_int_equal(stream, STREAM);
	assert_true(when_ns > 0);
	return !played.over && played.now_ns < life->end_ns;
}

static int played_sample(struct sw_recorder *recorder, struct sw_error *err)
{
	const struct sw_event happened = {.kind = played.dies ? SW_EVENT_DIED : SW_EVENT_CALLED,
					  .returned = true,
					  .result = -24};
	assert_true(played.n_looks++ < FETCHES_MAX);
	for (uint64_t n = 0; n < played.n_at_once && played.in_ring > 0; n++) {
		played.in_ring--;
		played.now_ns += EVENT_NS;
		int r = event(&run_of, &happened, played.row, err);
		if (r < 0)
			return r;
	}
	return played.code;
}

static const struct sw_recorder_totals *played_totals(const struct sw_recorder *recorder)
{
	return &played.totals;
}

static bool played_ended(const struct sw_recorder *recorder)
{
	return false;
}

static void played_stop(struct sw_recorder *recorder)
{
	played.stopped = true;
}

static void played_drop(struct sw_recorder *recorder)
{
	assert_true(played.stopped);
	played.totals.n_lost += played.in_ring;
	played.in_ring = 0;
}

static bool played_same(const struct sw_worker_ids *ids)
{
	return !played.others && !played.dies;
}

static bool played_differ(const struct sw_worker_ids *ids)
{
	return played.others;
}

static int played_write(int stream, enum sw_worker_event_type type, const void *payload,
			size_t size, struct sw_error *err)
{
	sw_cleanup(sw_free_p) char *text = strndup(payload, size);
	const char *lost = text != NULL ? strstr(text, "\"lost\":") : NULL;
	assert_int_equal(type, SW_WORKER_EVENTS);
	assert_non_null(lost);
	assert_true(size <= SW_WORKER_EVENTS_BYTES);
	played.lost_told += strtoull(lost + strlen("\"lost\":"), NULL, 10);
	for (const char *at = text; (at = strstr(at, "\"stack\":")) != NULL; at++)
		played.n_told++;
	return 0;
}

/* The id of a stack is the size of its text. */
static int played_json(const struct sw_report *report, const struct sw_report_stack *stack,
		       char **ret_text, size_t *ret_size, struct sw_error *err)
{
	*ret_size = (size_t) stack->id;
	*ret_text = calloc(1, *ret_size);
	return *ret_text != NULL ? 0 : -SW_E_NOMEM;
}

static const struct sw_report *played_report(const struct sw_recorder *recorder)
{
	return &seen;
}

static int played_dump(const struct sw_worker *from, const struct sw_report *report,
		       struct sw_error *err)
{
	assert_ptr_equal(from, &worker);
	played.n_dumps++;
	snprintf(played.reason, sizeof(played.reason), "%s", report->reason);
	return 0;
}

static void begin_played(uint64_t in_ring, uint64_t at_once, uint64_t count)
{
	memset(&played, 0, sizeof(played));
	played.in_ring = in_ring;
	played.n_at_once = at_once;
	played.row = SW_RECORDER_NO_ROW;
	memset(&run_of, 0, sizeof(run_of));
	memset(&worker, 0, sizeof(worker));
	worker.stream = STREAM;
	worker.request.events.count = count;
	worker.request.events.end_ns = INT64_MAX;
	run_of.worker = &worker;
	run_of.naming = (struct sw_event_naming){.pid = 1, .member = "call", .name = "openat"};
}

static void end_played(void)
{
	sw_text_deinit(&run_of.new_stacks);
	sw_text_deinit(&run_of.told);
	sw_map64_deinit(&run_of.rows);
}

/* Events that are left after a second are lost, and told so. */
TEST(test_rest)
{
	begin_played(1000000, 10, 0);
	played.over = true;
	assert_int_equal(run(&run_of, NULL), 0);
	assert_int_equal(run_of.ended.end, SW_WORKER_END_TIME);
	assert_int_equal(played.now_ns, REST_NS);
	assert_int_equal(run_of.ended.n, REST_NS / EVENT_NS);
	assert_int_equal(run_of.ended.n_lost, 1000000 - REST_NS / EVENT_NS);
	assert_int_equal(played.n_told, run_of.ended.n);
	assert_int_equal(played.lost_told, run_of.ended.n_lost);
	end_played();
}

/* Where there is time for all, nothing is lost. */
TEST(test_rest_is_short)
{
	begin_played(25, 10, 0);
	played.over = true;
	assert_int_equal(run(&run_of, NULL), 0);
	assert_int_equal(run_of.ended.end, SW_WORKER_END_TIME);
	assert_int_equal(run_of.ended.n, 25);
	assert_int_equal(run_of.ended.n_lost + played.lost_told, 0);
	end_played();
}

/* The count is reached by the look that also sees other code: no worker goes on. */
TEST(test_count_and_change)
{
	begin_played(10, 10, 10);
	played.code = -SW_E_CHANGED;
	assert_int_equal(run(&run_of, NULL), 0);
	assert_int_equal(run_of.ended.end, SW_WORKER_END_COUNT);
	assert_int_equal(run_of.ended.n, 10);
	assert_int_equal(played.n_told, 10);
	end_played();
	begin_played(9, 10, 10);
	played.code = -SW_E_CHANGED;
	assert_int_equal(run(&run_of, NULL), 0);
	assert_int_equal(run_of.ended.end, SW_WORKER_END_CHANGED);
	end_played();
}

/* Events that nobody may see are no events without a stack. */
TEST(test_dropped)
{
	begin_played(10, 10, 0);
	played.others = true;
	assert_int_equal(run(&run_of, NULL), 0);
	assert_int_equal(run_of.ended.end, SW_WORKER_END_CHANGED);
	assert_int_equal(run_of.ended.n, 0);
	assert_int_equal(run_of.ended.n_no_stack, 0);
	assert_int_equal(run_of.ended.n_lost, 10);
	assert_int_equal(played.n_told, 0);
	end_played();
}

/* An event whose stack does not fit into a message comes without it. */
TEST(test_long_stack)
{
	struct sw_report_stack stack = {.id = STACK_BYTES};
	struct sw_report_thread thread = {.stack = 0};
	const struct sw_report report = {.threads = &thread,
					 .n_threads = 1,
					 .stacks = &stack,
					 .n_stacks = 1};
	const bool wanted = true;
	begin_played(0, 0, 0);
	assert_int_equal(rows(&run_of, &report, &wanted, NULL, &played.row, NULL), 0);
	assert_int_equal(played.row, 0);
	stack.id++;
	assert_int_equal(rows(&run_of, &report, &wanted, NULL, &played.row, NULL), 0);
	assert_int_equal(played.row, SW_RECORDER_NO_ROW);
	assert_int_equal(run_of.new_stacks.size, STACK_BYTES);
	end_played();
}

/* The first event is a dump, and ends it: no other one is looked at, and nothing else is sent. */
TEST(test_kept)
{
	begin_played(10, 10, 0);
	worker.request.events.kept = true;
	snprintf(worker.request.reason, sizeof(worker.request.reason), "event: files");
	played.row = 0;
	assert_int_equal(run(&run_of, NULL), 0);
	assert_int_equal(run_of.ended.end, SW_WORKER_END_COUNT);
	assert_int_equal(run_of.ended.n, 1);
	assert_int_equal(run_of.ended.n_no_stack, 0);
	assert_int_equal(played.n_dumps, 1);
	assert_true(run_of.sent);
	assert_string_equal(played.reason, "event: files: openat EMFILE");
	assert_int_equal(played.n_told, 0);
	end_played();
	/* An event without a stack is no dump. */
	begin_played(10, 10, 0);
	worker.request.events.kept = true;
	assert_int_equal(run(&run_of, NULL), 0);
	assert_int_equal(run_of.ended.end, SW_WORKER_END_COUNT);
	assert_int_equal(run_of.ended.n_no_stack, 1);
	assert_int_equal(played.n_dumps, 0);
	assert_false(run_of.sent);
	end_played();
	/* Neither is an event of a process that has other users, also its death; one whose users nobody can see any more is. */
	for (int i = 0; i < 3; i++) {
		begin_played(10, 10, 0);
		worker.request.events.kept = true;
		played.row = 0;
		played.others = i < 2;
		played.dies = i > 0;
		assert_int_equal(run(&run_of, NULL), 0);
		assert_int_equal(run_of.ended.end,
				 i < 2 ? SW_WORKER_END_CHANGED : SW_WORKER_END_COUNT);
		assert_int_equal(played.n_dumps, i == 2);
		end_played();
	}
}
