/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Series whose captures are made by one worker, without captures: the spawner below gives pipes, and what workers
 * say is written by the tests. The process that is captured is a child that waits.
 */
#include "jobs_case.h"
#include "jobs/run.h"
#include "jobs/series.h"
#include "jobs/state.h"
#include "worker/life.h"
#include "worker/wire.h"
#include "bytes.h"
#include "cleanup.h"
#include "test.h"

#include <snapwalk/clock.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

enum { WORKERS_MAX = 40, WAIT_US = 60 * 1000 * 1000, SERIES_MAX = 33 };

struct worker {
	int stream, gone; /* ours; eventfd that says that it has ended */
	struct sw_worker_request request;
};

static struct worker workers[WORKERS_MAX];
static size_t n_workers;

int sw_spawner_spawn(struct sw_spawner *spawner, const struct sw_worker_request *asked,
		     int target_pidfd, int names_fd, int *ret_pidfd, int *ret_stream,
		     struct sw_error *err)
{
	int ends[2];
	struct worker *w = &workers[n_workers++];
	assert_true(n_workers <= WORKERS_MAX);
	assert_true(target_pidfd >= 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	*w = (struct worker){.stream = ends[1],
			     .gone = eventfd(0, EFD_NONBLOCK),
			     .request = *asked};
	*ret_stream = ends[0];
	*ret_pidfd = dup(w->gone);
	return 0;
}

struct fixture {
	struct jobs_case base;
	struct sw_series *series[SERIES_MAX];
	size_t n_series, n_dumps, n_failed;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	assert_non_null(f);
	n_workers = 0;
	jobs_case_init(&f->base);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	for (size_t i = 0; i < f->n_series; i++)
		sw_series_destroy(f->series[i]);
	jobs_case_deinit(&f->base);
	free(f);
	return 0;
}

static void on_done(struct sw_series *series, const struct sw_outcome *outcome)
{
	struct fixture *f = series->owner;
	f->n_dumps += outcome->dump != NULL;
	f->n_failed += outcome->dump == NULL;
}

/* Each with other options: else a capture of one would be that of the others. */
static struct sw_series *series_new(struct fixture *f, uint64_t count, int64_t interval_ms)
{
	struct sw_found found = {.pidfd = -EBADF};
	struct sw_refusal refusal = {0};
	assert_true(sw_found_init(&found, f->base.pid, 0, -EBADF, &refusal));
	const struct sw_submission s = {.caller = &f->base.caller,
					.found = &found,
					.sampled = true,
					.options = {.depth = 9 + (uint32_t) f->n_series,
						    .max_stop_ms = 100}};
	struct sw_series *series = sw_series_create(&f->base.jobs, &s, count, interval_ms);
	sw_found_deinit(&found);
	assert_non_null(series);
	series->owner = f;
	series->done = on_done;
	f->series[f->n_series++] = series;
	return series;
}

static void wait_until_running(struct fixture *f, size_t n)
{
	while (f->base.jobs.n_running != n || f->base.jobs.n_queued > 0)
		assert_true(sd_event_run(f->base.event, WAIT_US) > 0);
}

/* The next capture of a series is under way. */
static void ask(struct fixture *f, struct sw_series *series)
{
	size_t n = f->base.jobs.n_running;
	series->next_ns = sw_clock_ns();
	assert_true(sw_series_next(series));
	wait_until_running(f, n + 1);
}

/* A worker's dump; stays: it waits for more. */
static void answer(struct fixture *f, const struct worker *w, const char *id, bool stays)
{
	char text[1024];
	size_t n = f->n_dumps + f->n_failed;
	const struct sw_worker_resumed resumed = {
		.target = {.rights = {.uid = {getuid(), getuid(), getuid()}}}, .stays = stays};
	int size = snprintf(text, sizeof(text),
			    "{\"schema\":\"snapwalk.dump/1\",\"id\":\"%s\","
			    "\"time\":\"2026-11-20T10:35:50Z\",\"complete\":true,\"process\":{"
			    "\"pid\":%d,\"starttime\":%llu,\"uid\":%d,\"comm\":\"a\",\"exe\":"
			    "\"/bin/a\"},\"timings\":{\"stopped_us\":0,\"total_us\":9},"
			    "\"threads\":[],\"stacks\":[],\"modules\":[],\"warnings\":[]}",
			    id, (int) f->base.pid, (unsigned long long) w->request.starttime,
			    (int) getuid());
	assert_int_equal(sw_worker_event_write(w->stream, SW_WORKER_RESUMED, &resumed,
					       sizeof(resumed), NULL),
			 0);
	assert_int_equal(sw_worker_event_write(w->stream, SW_WORKER_DUMP, text, (size_t) size,
					       NULL),
			 0);
	while (f->n_dumps + f->n_failed == n)
		assert_true(sd_event_run(f->base.event, WAIT_US) > 0);
}

static void end(const struct worker *w)
{
	assert_int_equal(close(w->stream), 0);
	assert_int_equal(eventfd_write(w->gone, 1), 0);
	assert_int_equal(close(w->gone), 0);
}

/* Which capture it was asked for; 0: for none, and it was told to end; UINT64_MAX: it waits. */
static uint64_t asked_for(const struct worker *w)
{
	struct pollfd event = {.fd = w->stream, .events = POLLIN | POLLRDHUP};
	struct sw_worker_next next;
	if (poll(&event, 1, 0) == 0)
		return UINT64_MAX;
	return sw_read_all(w->stream, &next, sizeof(next)) ? next.seq : 0;
}

/* A series has one worker for all its captures, with no slot between them; the worker ends with the
 * last one. */
TEST_OF(test_one_worker, struct fixture *f)
{
	struct sw_series *series = series_new(f, 4, 10);
	for (uint64_t seq = 1; seq <= 4; seq++) {
		ask(f, series);
		assert_int_equal(n_workers, 1);
		if (seq == 1) {
			assert_true(workers[0].request.repeats);
			assert_int_equal(workers[0].request.seq, 1);
		} else
			assert_int_equal(asked_for(&workers[0]), seq);
		answer(f, &workers[0], "0-1", true);
		assert_int_equal(f->n_dumps, seq);
		if (seq < 4) {
			assert_int_equal(asked_for(&workers[0]), UINT64_MAX);
			assert_int_equal(f->base.jobs.n_running, 0);
			assert_true(TAILQ_EMPTY(&f->base.jobs.list));
		}
	}
	assert_int_equal(asked_for(&workers[0]), 0);
	assert_int_equal(f->base.jobs.n_running, 1); /* until it has ended */
	end(&workers[0]);
	wait_until_running(f, 0);
	assert_int_equal(f->base.counters.captures_total, 4);
}

/* A worker makes one capture if it does not stay, its series ends, or it waits for long. */
TEST_OF(test_not_kept, struct fixture *f)
{
	struct sw_series *series = series_new(f, 9, 10);
	for (size_t i = 0; i < 3; i++) {
		ask(f, series);
		assert_int_equal(n_workers, i + 1);
		answer(f, &workers[i], "0-1", false);
		assert_int_equal(asked_for(&workers[i]), 0);
		end(&workers[i]);
		wait_until_running(f, 0);
	}
	struct sw_series *others[] = {series_new(f, 9, 10001), series_new(f, 1, 10)};
	for (size_t i = 0; i < SW_ARRAY_SIZE(others); i++) {
		const struct worker *w = &workers[3 + i];
		ask(f, others[i]);
		assert_false(w->request.repeats);
		answer(f, w, "0-2", true); /* whatever it says */
		assert_int_equal(asked_for(w), 0);
		end(w);
		wait_until_running(f, 0);
	}
}

/* A worker that is gone, that talks, or that is old is not asked: the capture is made by another
 * one. */
TEST_OF(test_renewed, struct fixture *f)
{
	struct sw_series *series = series_new(f, 9, 10);
	ask(f, series);
	answer(f, &workers[0], "0-1", true);
	end(&workers[0]);
	ask(f, series);
	assert_int_equal(n_workers, 2);
	answer(f, &workers[1], "0-2", true);
	assert_int_equal(write(workers[1].stream, "x", 1), 1);
	ask(f, series);
	assert_int_equal(n_workers, 3);
	assert_int_equal(asked_for(&workers[1]), 0);
	answer(f, &workers[2], "0-3", true);
	series->kept.begin_ns -= SW_WORKER_LIFE_MS * INT64_C(1000000);
	ask(f, series);
	assert_int_equal(n_workers, 4);
	assert_int_equal(asked_for(&workers[2]), 0);
	answer(f, &workers[3], "0-4", true);
	f->base.jobs.config = &f->base.config;
	sw_jobs_reconfigure(&f->base.jobs, &f->base.config);
	assert_int_equal(asked_for(&workers[3]), 0);
	ask(f, series);
	assert_int_equal(n_workers, 5);
	assert_int_equal(workers[4].request.seq, 5);
	assert_int_equal(f->n_failed, 0);
	/* A worker that is at work when the settings change is renewed, too. */
	sw_jobs_reconfigure(&f->base.jobs, &f->base.config);
	answer(f, &workers[4], "0-5", true);
	assert_int_equal(asked_for(&workers[4]), 0);
	end(&workers[4]);
	wait_until_running(f, 0);
	end(&workers[1]);
	end(&workers[2]);
	end(&workers[3]);
}

/* A worker that dies at work costs that capture, and no other. */
TEST_OF(test_dies, struct fixture *f)
{
	struct sw_series *series = series_new(f, 9, 10);
	ask(f, series);
	answer(f, &workers[0], "0-1", true);
	ask(f, series);
	assert_int_equal(asked_for(&workers[0]), 2);
	end(&workers[0]);
	wait_until_running(f, 0);
	assert_int_equal(f->n_failed, 1);
	assert_int_equal(f->base.counters.workers_died_total, 1);
	ask(f, series);
	assert_int_equal(n_workers, 2);
	assert_int_equal(workers[1].request.seq, 3);
	answer(f, &workers[1], "0-3", true);
	assert_int_equal(f->n_dumps, 2);
}

/* The series ends while it waits, or works: it ends, too, and the capture is made. */
TEST_OF(test_cancelled, struct fixture *f)
{
	struct sw_series *waits = series_new(f, 9, 10), *works = series_new(f, 9, 10);
	ask(f, waits);
	answer(f, &workers[0], "0-1", true);
	ask(f, works);
	answer(f, &workers[1], "0-2", true);
	ask(f, works);
	sw_series_destroy(waits);
	sw_series_destroy(works);
	f->n_series = 0;
	assert_int_equal(asked_for(&workers[0]), 0);
	assert_int_equal(asked_for(&workers[1]), 2);
	const struct sw_worker_failed failed = {.code = 1};
	assert_int_equal(sw_worker_event_write(workers[1].stream, SW_WORKER_FAILED, &failed,
					       sizeof(failed), NULL),
			 0);
	end(&workers[1]);
	wait_until_running(f, 0);
	assert_int_equal(f->n_dumps + f->n_failed, 2); /* nobody was told of the last one */
	end(&workers[0]);
}

/* A user has four that wait; the fifth series has a worker for each capture. */
TEST_OF(test_few, struct fixture *f)
{
	enum { PER_USER = 4 };
	for (size_t i = 0; i < PER_USER + 1; i++) {
		ask(f, series_new(f, 9, 10));
		answer(f, &workers[i], "0-1", true);
		assert_int_equal(asked_for(&workers[i]), i < PER_USER ? UINT64_MAX : 0);
	}
	end(&workers[PER_USER]);
	wait_until_running(f, 0);
	sw_series_destroy(f->series[0]);
	f->series[0] = NULL;
	ask(f, f->series[PER_USER]);
	answer(f, &workers[PER_USER + 1], "0-1", true);
	assert_int_equal(asked_for(&workers[PER_USER + 1]), UINT64_MAX);
}
