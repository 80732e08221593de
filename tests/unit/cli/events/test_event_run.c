/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The end of a run of events, with a recorder and a clock that are played here: the file under test is included, and asks
 * these functions instead. tests/live/test_events.py has real ones. */
#include "common/waiting.h"

#include <snapwalk/clock.h>
#include <snapwalk/recorder.h>

static int64_t played_clock(void);
static bool played_wait(const sigset_t *signals, int64_t when_ns);
static int played_sample(struct sw_recorder *recorder, struct sw_error *err);
static const struct sw_recorder_totals *played_totals(const struct sw_recorder *recorder);
static bool played_ended(const struct sw_recorder *recorder);
static void played_drop(struct sw_recorder *recorder);

#define sw_clock_ns                    played_clock
#define sw_wait_until                  played_wait
#define sw_recorder_sample             played_sample
#define sw_recorder_totals(r)          played_totals(r)
#define sw_recorder_has_ended          played_ended
#define sw_recorder_events_are_over(r) false
#define sw_recorder_stop_events(r)     (void) (r)
#define sw_recorder_drop_events        played_drop
#define sw_recorder_take_probe_out(r)  false
#define sw_recorder_event_cost(r) \
	(struct sw_event_cost)    \
	{                         \
		0                 \
	}
#include "events/event_run.c"
#include "test.h"

enum { EVENT_NS = 10000000, LOOKS_MAX = 100000, AT_ONCE = 7 };

static struct {
	int64_t now_ns;
	uint64_t in_ring, in_second_ring;
	uint64_t signal_at; /* events that are left when a signal comes; 0: none does */
	size_t n_looks;
	struct sw_recorder_totals totals;
	uint64_t n_told;
} played;
static struct sw_event_run run, *reading;

static int64_t played_clock(void)
{
	return played.now_ns;
}

static bool played_wait(const sigset_t *signals, int64_t when_ns)
{
	assert_ptr_equal(signals, &reading->signals);
	if (when_ns > played.now_ns)
		played.now_ns = when_ns;
	return played.signal_at > 0 && played.in_ring <= played.signal_at;
}

static int played_sample(struct sw_recorder *recorder, struct sw_error *err)
{
	const struct sw_event happened = {.number = played.n_told + 1};
	assert_true(played.n_looks++ < LOOKS_MAX);
	for (unsigned n = 0; n < AT_ONCE && played.in_ring > 0; n++) {
		played.in_ring--;
		played.now_ns += EVENT_NS;
		int r = event(reading, &happened, SW_RECORDER_NO_ROW, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static const struct sw_recorder_totals *played_totals(const struct sw_recorder *recorder)
{
	return &played.totals;
}

static bool played_ended(const struct sw_recorder *recorder)
{
	return false;
}

static void played_drop(struct sw_recorder *recorder)
{
	played.totals.n_lost += played.in_ring;
	played.in_ring = 0;
	if (reading != &run) { /* that beside it has ended */
		played.in_ring = played.in_second_ring;
		reading = &run;
	}
}

static int count_told(void *arg, const struct sw_event *e, uint32_t row, struct sw_error *err)
{
	played.n_told++;
	return 0;
}

static void begin(struct sw_event_run *r)
{
	memset(r, 0, sizeof(*r));
	r->event = count_told;
	r->cpu_begin_ns = -1;
	r->order = (struct sw_event_order){.tell = told, .arg = r};
}

/* Ends a run when so many events have been copied that are not read; with one beside it: so many of each. */
static void end_both_with(uint64_t in_ring, uint64_t signal_at, struct sw_event_run *beside)
{
	memset(&played, 0, sizeof(played));
	played.in_ring = in_ring;
	played.in_second_ring = beside != NULL ? in_ring : 0;
	played.signal_at = signal_at;
	begin(&run);
	run.beside = beside;
	reading = beside != NULL ? beside : &run;
	assert_int_equal(finish(&run, 0, NULL), 0);
	sw_event_order_deinit(&run.order);
	assert_int_equal(played.n_told + run.n_lost, in_ring + played.in_second_ring);
}

static void end_with(uint64_t in_ring, uint64_t signal_at)
{
	end_both_with(in_ring, signal_at, NULL);
}

TEST(all_are_read)
{
	end_with(100, 0);
	assert_int_equal(played.n_told, 100);
}

TEST(there_is_no_time)
{
	end_with(100000, 0);
	assert_in_range(played.now_ns, REST_S * (int64_t) NS_PER_S,
			REST_S * (int64_t) NS_PER_S + AT_ONCE * EVENT_NS);
	assert_in_range(played.n_told, REST_S * 100, REST_S * 100 + AT_ONCE);
}

TEST(a_signal_comes)
{
	end_with(100, 50);
	assert_in_range(played.n_told, 50, 50 + AT_ONCE);
}

/* Two runs have that time together, and a signal ends both. */
TEST(one_beside)
{
	struct sw_event_run beside;
	begin(&beside);
	end_both_with(100000, 0, &beside);
	assert_in_range(played.now_ns, REST_S * (int64_t) NS_PER_S,
			REST_S * (int64_t) NS_PER_S + AT_ONCE * EVENT_NS);
	sw_event_order_deinit(&beside.order);
	begin(&beside);
	end_both_with(100, 50, &beside);
	assert_in_range(played.n_told, 50, 50 + AT_ONCE);
	sw_event_order_deinit(&beside.order);
	begin(&beside);
	end_both_with(100, 0, &beside);
	assert_int_equal(played.n_told, 200);
	sw_event_order_deinit(&beside.order);
}
