/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Profiles without captures: the spawner below gives pipes, and what workers say is written by the tests. The
 * process that is profiled is a child that waits. Each profile would take an hour: what ends it is said.
 */
#include "jobs_case.h"
#include "jobs/profile.h"
#include "jobs/run.h"
#include "jobs/state.h"
#include "worker/names.h"
#include "worker/wire.h"
#include "bytes.h"
#include "cleanup.h"
#include "test.h"

#include <sys/eventfd.h>
#include <sys/socket.h>

enum { HOUR_MS = 3600 * 1000, RATE_HZ = 100, WAIT_US = 60 * 1000 * 1000 };

/* The descriptors and the request of the last worker. */
static int worker_stream, worker_gone, worker_names;
static struct sw_worker_request request;
static size_t n_workers;
static struct sw_target_creds target; /* as workers see it */

int sw_spawner_spawn(struct sw_spawner *spawner, const struct sw_worker_request *asked,
		     int target_pidfd, int names_fd, int *ret_pidfd, int *ret_stream,
		     struct sw_error *err)
{
	int ends[2];
	assert_true(target_pidfd >= 0);
	assert_true(names_fd >= 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	worker_names = dup(names_fd);
	worker_stream = ends[1];
	worker_gone = eventfd(0, EFD_NONBLOCK);
	request = *asked;
	n_workers++;
	*ret_stream = ends[0];
	*ret_pidfd = dup(worker_gone);
	return 0;
}

struct fixture {
	struct jobs_case base;
	struct sw_subscriber subscriber;
	size_t n_told, n_failures; /* by the subscriber */
	bool begun, done, early;   /* early: said in the profile */
	char id[64];               /* of what was done */
	char refused[128];         /* and why it was not */
	uint32_t mixed;            /* SW_MIXED_* */
	uid_t uid;
};

static void tell(struct sw_subscriber *subscriber, const struct sw_subject *subject,
		 const struct sw_dump *dump, const char *failure)
{
	struct fixture *f =
		(struct fixture *) ((char *) subscriber - offsetof(struct fixture, subscriber));
	f->n_told += dump != NULL;
	f->n_failures += dump == NULL;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	assert_non_null(f);
	n_workers = 0;
	target = (struct sw_target_creds){.rights = {.uid = {getuid(), getuid(), getuid()},
						     .dumpable = 1},
					  .exe = "/bin/a"};
	jobs_case_init(&f->base);
	f->subscriber.tell = tell;
	sw_publish_subscribe(&f->base.jobs.publisher, &f->subscriber);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	jobs_case_deinit(&f->base);
	free(f);
	return 0;
}

static void on_begun(struct sw_profiling *profiling, const struct sw_outcome *outcome)
{
	struct fixture *f = profiling->arg;
	assert_non_null(outcome->dump);
	assert_false(f->begun);
	f->begun = true;
}

static void on_done(struct sw_profiling *profiling, const struct sw_outcome *outcome)
{
	struct fixture *f = profiling->arg;
	assert_false(f->done);
	f->done = true;
	f->mixed = outcome->target != NULL ? outcome->target->rights.mixed : 0;
	f->uid = outcome->target != NULL ? outcome->target->rights.uid[0] : 0;
	f->early = outcome->dump != NULL &&
		   strstr(outcome->dump->text,
			  "{\"schema\":\"snapwalk.profile/1\",\"ended_early\":\"") != NULL;
	(void) snprintf(f->id, sizeof(f->id), "%s", outcome->dump != NULL ? outcome->dump->id : "");
	(void) snprintf(f->refused, sizeof(f->refused), "%s",
			outcome->dump == NULL ? outcome->refusal->name : "");
	sw_profiling_destroy(profiling);
}

static struct sw_profiling *create(struct fixture *f, struct sw_refusal *refusal)
{
	struct sw_found found = {.pidfd = -EBADF};
	assert_true(sw_found_init(&found, f->base.pid, 0, -EBADF, refusal));
	const struct sw_submission s = {.caller = &f->base.caller,
					.found = &found,
					.options = {.depth = 9, .max_stop_ms = 100}};
	const struct sw_profile_wish wish = {.rate_hz = RATE_HZ, .duration_ms = HOUR_MS};
	struct sw_profiling *p = sw_profiling_create(&f->base.jobs, &s, &wish, refusal);
	sw_found_deinit(&found);
	if (p != NULL) {
		p->arg = f;
		p->begun = on_begun;
		p->done = on_done;
	}
	return p;
}

/* Wait until the next worker is asked. */
static void wait_for_worker(struct fixture *f, size_t n)
{
	while (n_workers < n)
		assert_true(sd_event_run(f->base.event, WAIT_US) > 0);
	assert_int_equal(n_workers, n);
}

static void start(struct fixture *f)
{
	struct sw_refusal refusal = {0};
	struct sw_profiling *p = create(f, &refusal);
	assert_non_null(p);
	assert_true(sw_profiling_start(p));
	wait_for_worker(f, 1);
}

static void say(uint32_t type, const void *payload, size_t size)
{
	assert_int_equal(sw_worker_event_write(worker_stream, type, payload, size, NULL), 0);
}

/* The worker ends, and what it said is heard. */
static void end(struct fixture *f)
{
	assert_int_equal(close(worker_stream), 0);
	assert_int_equal(close(worker_names), 0);
	assert_int_equal(eventfd_write(worker_gone, 1), 0);
	assert_int_equal(close(worker_gone), 0);
	while (f->base.jobs.n_running + f->base.jobs.n_lasting > 0)
		assert_true(sd_event_run(f->base.event, WAIT_US) > 0);
}

#define DUMP_ARRAYS "\"threads\":[],\"stacks\":[],\"modules\":[],\"warnings\":[]"
#define PROFILE_ARRAYS \
	"\"processes\":[],\"threads\":[],\"modules\":[],\"frames\":[],\"nodes\":[],\"samples\":[]"

/* The messages of a worker; *ret is the text. */
static void answer(struct fixture *f, const char *schema, const char *id, const char *arrays,
		   char ret[static 1024])
{
	const struct sw_worker_resumed resumed = {.target = target};
	int size = snprintf(ret, 1024,
			    "{\"schema\":\"%s\",\"id\":\"%s\",\"time\":\"2026-11-20T10:35:50Z\","
			    "\"complete\":true,\"process\":{\"pid\":%d,\"starttime\":%llu,"
			    "\"uid\":%d,\"comm\":\"a\",\"exe\":\"/bin/a\"},\"timings\":{"
			    "\"stopped_us\":0,\"total_us\":9,\"copy_us\":%zu,\"attach_us\":-1},%s}",
			    schema, id, (int) f->base.pid, (unsigned long long) request.starttime,
			    (int) getuid(), 100 * n_workers, arrays);
	say(SW_WORKER_RESUMED, &resumed, sizeof(resumed));
	say(SW_WORKER_DUMP, ret, (size_t) size);
	end(f);
}

static void answer_profile(struct fixture *f, const char *id, char ret[static 1024])
{
	answer(f, "snapwalk.profile/1", id, PROFILE_ARRAYS, ret);
}

static void fail_with(struct fixture *f, int code)
{
	const struct sw_worker_failed failed = {.code = code};
	say(SW_WORKER_FAILED, &failed, sizeof(failed));
	end(f);
}

/* Each worker is given what the one before it has made; what is published is the last. */
TEST_OF(test_handed_on, struct fixture *f)
{
	char said[1024];
	start(f);
	assert_int_equal(request.profile.rate_hz, RATE_HZ);
	assert_int_equal(request.profile.size, 0);
	assert_string_equal(request.profile.id, "");
	int64_t begin_ns = request.profile.begin_ns;
	answer_profile(f, "0-1", said);
	assert_true(f->begun);
	for (size_t i = 2; i < 5; i++) {
		wait_for_worker(f, i);
		assert_int_equal(request.profile.begin_ns, begin_ns);
		assert_int_equal(request.profile.size, strlen(said));
		assert_string_equal(request.profile.id, "0-1");
		assert_int_equal(request.profile.copy_us, 100 * (i - 1));
		assert_int_equal(request.profile.attach_us, 0); /* a worker may say anything */
		sw_cleanup(sw_free_p) char *given =
			sw_names_profile(worker_names, request.profile.size);
		assert_string_equal(given, said);
		answer_profile(f, "0-1", said);
	}
	assert_int_equal(f->n_told, 0);
	wait_for_worker(f, 5);
	fail_with(f, SW_E_EXITED);
	assert_true(f->done);
	assert_true(f->early); /* and why is in it */
	assert_string_equal(f->id, "0-1");
	assert_int_equal(f->uid, getuid());
	assert_int_equal(f->mixed, 0);
	assert_int_equal(f->n_told, 1);
	assert_int_equal(f->n_failures, 0);
	assert_true(TAILQ_EMPTY(&f->base.jobs.series));
}

/* A user who may see all of the profile may have seen each sample. */
TEST_OF(test_mixed, struct fixture *f)
{
	static const uint32_t mixed[] = {SW_MIXED_OTHERS, SW_MIXED_USERS, SW_MIXED_OTHERS,
					 SW_MIXED_NAMES, 0};
	char said[1024];
	for (int i = 0; i < 5; i++) {
		const struct sw_target_creds before = target;
		n_workers = 0;
		f->begun = f->done = false;
		start(f);
		answer_profile(f, "0-1", said);
		wait_for_worker(f, 2);
		if (i == 0)
			target.rights.gid[2]++;
		else if (i == 1)
			target.rights.uid[1]++;
		else if (i == 2)
			target.rights.dumpable = 0;
		else if (i == 3)
			strcpy(target.exe, "/bin/b");
		answer_profile(f, "0-1", said);
		wait_for_worker(f, 3);
		target = before;
		answer_profile(f, "0-1", said);
		wait_for_worker(f, 4);
		fail_with(f, SW_E_EXITED);
		assert_string_equal(f->id, "0-1");
		assert_int_equal(f->mixed, mixed[i]);
	}
}

/* Later samples may fail; what else a worker says is a failure, too. */
TEST_OF(test_lost, struct fixture *f)
{
	char said[1024], other[1024];
	start(f);
	answer_profile(f, "0-1", said);
	wait_for_worker(f, 2);
	fail_with(f, SW_E_STOP_TIMEOUT);
	wait_for_worker(f, 3);
	answer(f, "snapwalk.dump/1", "0-1", DUMP_ARRAYS, other);
	wait_for_worker(f, 4);
	answer_profile(f, "0-2", other);
	wait_for_worker(f, 5);
	sw_cleanup(sw_free_p) char *given = sw_names_profile(worker_names, request.profile.size);
	assert_string_equal(given, said);
	fail_with(f, SW_E_EXITED);
	assert_string_equal(f->id, "0-1");
	assert_int_equal(f->n_failures, 0);
}

/* Samples of a worker that ends without a profile are counted as lost by the next one; once. */
TEST_OF(test_lost_are_counted, struct fixture *f)
{
	const struct sw_worker_resumed resumed = {.target = target};
	const struct sw_worker_sampled more = {.n_samples = 70, .n_threads = 70};
	char said[1024];
	start(f);
	assert_int_equal(request.profile.n_lost, 0);
	answer_profile(f, "0-1", said);
	for (size_t i = 2; i < 4; i++) {
		wait_for_worker(f, i);
		assert_int_equal(request.profile.n_lost, (i - 2) * 70);
		say(SW_WORKER_RESUMED, &resumed, sizeof(resumed));
		say(SW_WORKER_SAMPLED, &more, sizeof(more));
		end(f); /* killed */
	}
	wait_for_worker(f, 4);
	assert_int_equal(request.profile.n_lost, 140);
	answer_profile(f, "0-1", said);
	wait_for_worker(f, 5);
	assert_int_equal(request.profile.n_lost, 0);
	fail_with(f, SW_E_EXITED);
	assert_string_equal(f->id, "0-1");
}

TEST_OF(test_never_begun, struct fixture *f)
{
	start(f);
	fail_with(f, SW_E_STOP_TIMEOUT);
	assert_true(f->done);
	assert_false(f->begun);
	assert_string_equal(f->refused, "io.snapwalk.StopTimeout");
	assert_int_equal(f->n_told, 0);
	assert_int_equal(f->n_failures, 1);
	assert_true(TAILQ_EMPTY(&f->base.jobs.series));
}

/* A sample is no capture for somebody else, though the options are the same. */
static void heard(struct sw_waiter *waiter, const struct sw_outcome *outcome)
{
	assert_non_null(outcome->dump);
	assert_false(outcome->dump->profile);
	assert_false(outcome->coalesced);
}

TEST_OF(test_not_shared, struct fixture *f)
{
	struct sw_waiter waiter = {.done = heard};
	struct sw_refusal refusal = {0};
	struct sw_found found = {.pidfd = -EBADF};
	struct sw_dump *dump = NULL;
	char said[1024];
	start(f);
	assert_true(sw_found_init(&found, f->base.pid, 0, -EBADF, &refusal));
	int names = sw_names_create(0);
	const struct sw_submission s = {.caller = &f->base.caller,
					.found = &found,
					.names_fd = names,
					.options = {.depth = 9, .max_stop_ms = 100}};
	assert_int_equal(sw_job_submit(&f->base.jobs, &s, &waiter, &dump, &refusal),
			 SW_SUBMITTED_WAIT);
	assert_false(waiter.coalesced);
	answer_profile(f, "0-1", said);
	wait_for_worker(f, 2);
	assert_int_equal(request.profile.rate_hz, 0);
	answer(f, "snapwalk.dump/1", "0-2", DUMP_ARRAYS, said);
	assert_null(waiter.job);
	wait_for_worker(f, 3);
	assert_int_equal(request.profile.rate_hz, RATE_HZ);
	/* Nor is the profile so far a recent dump. */
	fail_with(f, SW_E_EXITED);
	assert_string_equal(f->id, "0-1");
	sw_found_deinit(&found);
	assert_int_equal(close(names), 0);
}

/* The profile so far is kept when the daemon ends. */
TEST_OF(test_daemon_ends, struct fixture *f)
{
	char said[1024];
	start(f);
	answer_profile(f, "0-1", said);
	sw_series_end(&f->base.jobs);
	assert_true(f->done);
	assert_string_equal(f->id, "0-1");
	assert_int_equal(f->n_told, 1);
}

static void run_until(struct fixture *f, const uint64_t *counter, uint64_t wanted)
{
	while (*counter < wanted)
		assert_true(sd_event_run(f->base.event, WAIT_US) > 0);
	assert_int_equal(*counter, wanted);
}

static const struct sw_worker_resumed resumed_now = {.stopped_us = 1};

/* A worker that goes on: it has no slot, each sample counts, its process can be captured meanwhile. */
TEST_OF(test_lasts, struct fixture *f)
{
	struct sw_waiter waiter = {.done = heard};
	struct sw_refusal refusal = {0};
	struct sw_found found = {.pidfd = -EBADF};
	struct sw_dump *dump = NULL;
	const struct sw_worker_sampled some = {.n_samples = 7, .n_threads = 70, .stopped_us = 5};
	char said[1024], byte;
	f->base.config.workers = 1;
	start(f);
	assert_false(request.profile.alone);
	answer_profile(f, "0-1", said);
	assert_int_equal(f->base.counters.captures_total, 1);
	wait_for_worker(f, 2);
	assert_int_equal(f->base.jobs.n_running, 0);
	assert_int_equal(f->base.jobs.n_lasting, 1);
	int stream = worker_stream, gone = worker_gone, names = worker_names;
	say(SW_WORKER_RESUMED, &resumed_now, sizeof(resumed_now));
	say(SW_WORKER_SAMPLED, &some, sizeof(some));
	run_until(f, &f->base.counters.captures_total, 8);
	assert_int_equal(f->base.counters.stopped_us_total, 6);
	assert_true(sw_found_init(&found, f->base.pid, 0, -EBADF, &refusal));
	const struct sw_submission s = {.caller = &f->base.caller,
					.found = &found,
					.names_fd = names,
					.options = {.max_stop_ms = 100}};
	assert_int_equal(sw_job_submit(&f->base.jobs, &s, &waiter, &dump, &refusal),
			 SW_SUBMITTED_WAIT);
	wait_for_worker(f, 3);
	assert_int_equal(request.profile.rate_hz, 0);
	f->base.jobs.n_lasting--; /* not waited for */
	answer(f, "snapwalk.dump/1", "0-2", DUMP_ARRAYS, said);
	f->base.jobs.n_lasting++;
	/* The profile that is asked for is sent at once when the daemon ends. */
	worker_stream = stream;
	worker_gone = gone;
	worker_names = names;
	assert_true(recv(stream, &byte, 1, MSG_DONTWAIT) < 0);
	sw_job_enough(TAILQ_FIRST(&f->base.jobs.list));
	assert_int_equal(recv(stream, &byte, 1, MSG_DONTWAIT), 0); /* the end */
	sw_found_deinit(&found);
	fail_with(f, SW_E_EXITED);
	assert_string_equal(f->id, "0-1");
}

/* Above StopPercent= it is told that it is enough. A worker that took few samples was not worth
 * it. */
TEST_OF(test_enough, struct fixture *f)
{
	const struct sw_worker_sampled two = {.n_samples = 2, .stopped_us = INT64_C(1) << 40},
				       much = {.n_samples = 1000, .stopped_us = INT64_C(1) << 40};
	char said[1024], byte;
	start(f);
	answer_profile(f, "0-1", said);
	wait_for_worker(f, 2);
	say(SW_WORKER_RESUMED, &resumed_now, sizeof(resumed_now));
	assert_true(recv(worker_stream, &byte, 1, MSG_DONTWAIT) < 0);
	say(SW_WORKER_SAMPLED, &two, sizeof(two)); /* no more than two stops can take */
	run_until(f, &f->base.counters.captures_total, 3);
	assert_true(recv(worker_stream, &byte, 1, MSG_DONTWAIT) < 0);
	say(SW_WORKER_SAMPLED, &much, sizeof(much));
	run_until(f, &f->base.counters.captures_total, 1003);
	assert_int_equal(recv(worker_stream, &byte, 1, MSG_DONTWAIT), 0);
	sw_limits_destroy(f->base.jobs.limits);
	assert_int_equal(sw_limits_create(&f->base.config, &f->base.jobs.limits), 0);
	fail_with(f, SW_E_STOP_TIMEOUT);
	wait_for_worker(f, 3);
	assert_true(request.profile.alone);
	fail_with(f, SW_E_EXITED);
	assert_string_equal(f->id, "0-1");
}

/* Nobody waits for it any more: its worker is killed. */
TEST_WITH(test_left, setup, teardown)
{
	struct fixture *f = *state;
	char said[1024];
	start(f);
	answer_profile(f, "0-1", said);
	wait_for_worker(f, 2);
	struct sw_job *job = TAILQ_FIRST(&f->base.jobs.list);
	assert_true(job->lasts);
	sw_waiter_cancel(&TAILQ_FIRST(&f->base.jobs.series)->waiter);
	assert_int_equal(job->state, SW_JOB_ENDED);
	end(f);
	assert_true(TAILQ_EMPTY(&f->base.jobs.list));
}

/* A user has four at once, alerts have the rest. */
TEST_OF(test_space, struct fixture *f)
{
	struct sw_profiling *all[5] = {0};
	struct sw_refusal refusal = {0};
	for (size_t i = 0; i < 4; i++) {
		all[i] = create(f, &refusal);
		assert_non_null(all[i]);
	}
	assert_null(create(f, &refusal));
	assert_string_equal(refusal.name, "io.snapwalk.Busy");
	sw_refusal_deinit(&refusal);
	f->base.caller.uid++;
	all[4] = create(f, &refusal);
	assert_non_null(all[4]);
	for (size_t i = 0; i < 5; i++)
		sw_profiling_destroy(all[i]);
	f->base.caller.uid--;
	all[0] = create(f, &refusal);
	assert_non_null(all[0]);
	sw_profiling_destroy(all[0]);
}
