/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Jobs without processes: the spawner below gives pipes, and what workers say is written by the
 * tests. The event loop is the real one.
 */
#include "jobs/job.h"
#include "jobs/state.h"
#include "worker/wire.h"
#include "cleanup.h"
#include "test.h"

#include <snapwalk/clock.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

enum { WORKERS_MAX = 8, LOOPS_MAX = 100 };

struct worker {
	int stream, gone; /* ours: write end; eventfd that says that it has ended */
	struct sw_worker_request request;
};

static struct worker workers[WORKERS_MAX];
static size_t n_workers;

int sw_spawner_spawn(struct sw_spawner *spawner, const struct sw_worker_request *request,
		     int target_pidfd, int names_fd, int *ret_pidfd, int *ret_stream,
		     struct sw_error *err)
{
	int ends[2];
	struct worker *w = &workers[n_workers++];
	assert_int_equal(names_fd, -EBADF);
	assert_true(n_workers <= WORKERS_MAX);
	assert_true(target_pidfd >= 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	w->request = *request;
	w->stream = ends[1];
	w->gone = eventfd(0, EFD_NONBLOCK);
	assert_true(w->gone >= 0);
	*ret_stream = ends[0];
	*ret_pidfd = dup(w->gone);
	return 0;
}

int sw_spawner_configure(struct sw_spawner *spawner, const struct sw_config *config,
			 struct sw_error *err)
{
	return 0;
}

static void say(struct worker *w, uint32_t type, const void *payload, size_t size)
{
	const struct sw_worker_event event = {.type = type, .size = (uint32_t) size};
	assert_int_equal(write(w->stream, &event, sizeof(event)), sizeof(event));
	assert_int_equal(write(w->stream, payload, size), size);
}

static void end(struct worker *w)
{
	assert_int_equal(close(w->stream), 0);
	assert_int_equal(eventfd_write(w->gone, 1), 0);
	assert_int_equal(close(w->gone), 0);
}

/* The targets as workers and the broker see them. */
static struct sw_target_creds target_creds;
static char target_program[64]; /* its pagemap */

static void say_dump(struct worker *w, const char *id)
{
	char text[1024];
	const struct sw_worker_resumed resumed = {.stopped_us = 850, .target = target_creds};
	int size = snprintf(text, sizeof(text),
			    "{\"id\":\"%s\",\"time\":\"2026-11-20T10:35:50Z\",\"complete\":true,"
			    "\"process\":{\"pid\":%d,\"starttime\":%llu,\"uid\":5,\"comm\":\"a\","
			    "\"exe\":\"/bin/a\"},\"timings\":{\"stopped_us\":850,\"total_us\":9},"
			    "\"threads\":[],\"stacks\":[],\"modules\":[],\"warnings\":[]}",
			    id, (int) w->request.pid, (unsigned long long) w->request.starttime);
	sw_cleanup(sw_close_p) int fd = open(target_program, O_RDONLY | O_CLOEXEC);
	assert_int_equal(sw_worker_event_send(w->stream, SW_WORKER_RESUMED, &resumed,
					      sizeof(resumed), fd, NULL),
			 0);
	say(w, SW_WORKER_DUMP, text, (size_t) size);
}

struct fixture {
	struct sw_config config;
	struct sw_counters counters;
	struct sw_jobs jobs;
	sd_event *event;
	struct sw_spawner spawner;
};

/* A waiter, and what it heard. */
struct listener {
	struct sw_waiter waiter;
	char heard[256];
	char id[64];
	bool coalesced;
};

static void on_state(struct sw_waiter *waiter, const char *state)
{
	struct listener *l = (struct listener *) waiter;
	strcat(l->heard, state);
	strcat(l->heard, " ");
}

static void on_done(struct sw_waiter *waiter, const struct sw_outcome *outcome)
{
	struct listener *l = (struct listener *) waiter;
	strcat(l->heard, outcome->dump != NULL ? "dump" : outcome->refusal->name);
	l->coalesced = outcome->coalesced;
	if (outcome->dump != NULL)
		strcpy(l->id, outcome->dump->id);
}

static struct listener listener_new(void)
{
	return (struct listener){.waiter = {.state = on_state, .done = on_done}};
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	assert_non_null(f);
	struct sw_error err = {0};
	n_workers = 0;
	target_creds = (struct sw_target_creds){.rights = {.uid = {5, 5, 5}, .dumpable = true},
						.comm = "a",
						.exe = "/bin/a"};
	strcpy(target_program, "/proc/self/pagemap");
	assert_int_equal(sw_config_init(&f->config), 0);
	f->config.store = false;
	free(f->config.rules_dir);
	f->config.rules_dir = strdup("/nowhere");
	f->spawner.pidfd = eventfd(0, 0);
	sw_jobs_init(&f->jobs, &f->config, &f->counters);
	assert_true(sd_event_new(&f->event) >= 0);
	assert_int_equal(sw_jobs_start(&f->jobs, f->event, &f->spawner, &err), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	sw_jobs_deinit(&f->jobs);
	sd_event_unref(f->event);
	sw_config_deinit(&f->config);
	assert_int_equal(close(f->spawner.pidfd), 0);
	free(f);
	return 0;
}

static void loop(struct fixture *f)
{
	int n = 0;
	while (sd_event_run(f->event, 0) > 0)
		assert_true(++n < LOOPS_MAX);
}

static const struct sw_caller root = {.privileged = true, .same_user_ns = true};

static bool storing, pulling; /* by submit_as() */
static const struct sw_worker_events *watching;

static enum sw_submitted submit_as(struct fixture *f, const struct sw_caller *caller, pid_t pid,
				   uint32_t depth, struct listener *l, struct sw_dump **ret_dump,
				   struct sw_refusal *refusal)
{
	struct sw_found found = {.pid = pid, .starttime = 7, .pidfd = dup(0)};
	const struct sw_submission s = {.caller = caller,
					.found = &found,
					.options = {.depth = depth, .max_stop_ms = 100},
					.events = watching,
					.store = storing,
					.pulled = pulling};
	found.creds = target_creds;
	enum sw_submitted r = sw_job_submit(&f->jobs, &s, &l->waiter, ret_dump, refusal);
	sw_found_deinit(&found);
	return r;
}

static void submit(struct fixture *f, pid_t pid, uint32_t depth, struct listener *l)
{
	struct sw_dump *dump = NULL;
	struct sw_refusal refusal = {0};
	assert_int_equal(submit_as(f, &root, pid, depth, l, &dump, &refusal), SW_SUBMITTED_WAIT);
}

TEST_OF(test_one, struct fixture *f)
{
	struct listener l = listener_new();
	submit(f, 42, 9, &l);
	assert_int_equal(f->jobs.n_queued, 1);
	assert_int_equal(n_workers, 0);
	loop(f);
	assert_int_equal(n_workers, 1);
	assert_int_equal(workers[0].request.pid, 42);
	assert_int_equal(workers[0].request.starttime, 7);
	assert_int_equal(workers[0].request.depth, 9);
	assert_true(workers[0].request.privileged);
	assert_string_equal(l.heard, "stopped ");
	say_dump(&workers[0], "0-1");
	loop(f);
	assert_string_equal(l.heard, "stopped resumed dump");
	assert_string_equal(l.id, "0-1");
	assert_false(l.coalesced);
	assert_int_equal(f->jobs.n_running, 1);
	end(&workers[0]);
	loop(f);
	assert_int_equal(f->jobs.n_running, 0);
	assert_true(TAILQ_EMPTY(&f->jobs.list));
	assert_int_equal(f->counters.captures_total, 1);
	assert_int_equal(f->counters.captures_incomplete_total, 0);
	assert_int_equal(f->counters.stopped_us_total, 850);
}

/* Callers in flight join; a caller soon after has the same dump; other options do not. */
TEST_OF(test_coalesced, struct fixture *f)
{
	struct listener a = listener_new(), b = listener_new(), c = listener_new();
	struct sw_dump *dump = NULL;
	struct sw_refusal refusal = {0};
	submit(f, 42, 9, &a);
	loop(f);
	submit(f, 42, 9, &b);
	loop(f);
	assert_int_equal(n_workers, 1);
	say_dump(&workers[0], "0-1");
	end(&workers[0]);
	loop(f);
	assert_string_equal(a.id, "0-1");
	assert_string_equal(b.id, "0-1");
	assert_false(a.coalesced);
	assert_true(b.coalesced);
	assert_int_equal(submit_as(f, &root, 42, 9, &c, &dump, &refusal), SW_SUBMITTED_DUMP);
	assert_string_equal(dump->id, "0-1");
	sw_dump_unref(dump);
	assert_int_equal(f->counters.coalesced_total, 2);
	submit(f, 42, 10, &c);
	loop(f);
	assert_int_equal(n_workers, 2);
	end(&workers[1]);
	loop(f);
}

/* A process has one tracer: its next capture waits, that of another process does not. */
TEST_OF(test_one_at_a_time, struct fixture *f)
{
	struct listener a = listener_new(), b = listener_new(), c = listener_new();
	submit(f, 42, 9, &a);
	submit(f, 42, 10, &b);
	submit(f, 43, 9, &c);
	loop(f);
	assert_int_equal(n_workers, 2);
	assert_int_equal(workers[0].request.pid, 42);
	assert_int_equal(workers[1].request.pid, 43);
	say_dump(&workers[0], "0-1");
	end(&workers[0]);
	loop(f);
	assert_int_equal(n_workers, 3);
	assert_int_equal(workers[2].request.depth, 10);
	end(&workers[1]);
	end(&workers[2]);
	loop(f);
	assert_string_equal(b.heard, "stopped io.snapwalk.Failed");
	assert_string_equal(c.heard, "stopped io.snapwalk.Failed");
	assert_int_equal(f->counters.workers_died_total, 2);
}

/* A job that was let in while the target had stop time left is asked again when its turn comes. */
TEST_OF(test_budget_at_start, struct fixture *f)
{
	struct listener a = listener_new(), b = listener_new();
	submit(f, 42, 9, &a);
	submit(f, 42, 10, &b);
	loop(f);
	assert_int_equal(n_workers, 1);
	sw_limits_stopped(f->jobs.limits, 42, 7, 700000, 700000, sw_clock_ns());
	say_dump(&workers[0], "0-1");
	end(&workers[0]);
	loop(f);
	assert_string_equal(a.heard, "stopped resumed dump");
	assert_string_equal(b.heard, "io.snapwalk.Busy");
	assert_int_equal(n_workers, 1);
	assert_int_equal(f->counters.busy_target_total, 1);
	assert_true(TAILQ_EMPTY(&f->jobs.list));
	assert_int_equal(f->jobs.n_queued, 0);
}

TEST_OF(test_nonsense, struct fixture *f)
{
	const struct sw_worker_resumed resumed = {0};
	for (uint32_t i = 0; i < 4; i++) {
		struct listener l = listener_new();
		submit(f, 42, 9 + i, &l);
		loop(f);
		struct worker *w = &workers[i];
		if (i == 0)
			say(w, 99, "x", 1);
		else if (i == 1)
			say(w, SW_WORKER_RESUMED, &resumed, sizeof(resumed) - 1);
		else if (i == 2)
			say(w, SW_WORKER_DUMP, "{}", 2);
		else {
			w->request.pid = 43;
			say_dump(w, "0-1");
		}
		loop(f);
		end(w);
		loop(f);
		assert_non_null(strstr(l.heard, "io.snapwalk.Failed"));
		assert_int_equal(f->jobs.n_running, 0);
	}
	assert_int_equal(f->counters.captures_total, 0);
	assert_int_equal(f->counters.captures_failed_total, 4);
}

static int lowest_free_fd(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(close(fd), 0);
	return fd;
}

/* Descriptors that come along unasked do not stay open. */
TEST_OF(test_descriptors, struct fixture *f)
{
	struct listener l = listener_new();
	submit(f, 42, 9, &l);
	loop(f);
	int before = lowest_free_fd();
	const struct sw_worker_event event = {.type = SW_WORKER_FAILED,
					      .size = sizeof(struct sw_worker_failed)};
	const int two[] = {workers[0].gone, workers[0].gone};
	for (size_t i = 0; i < sizeof(event); i++) {
		assert_int_equal(sw_wire_send(workers[0].stream, (const char *) &event + i, 1, two,
					      SW_ARRAY_SIZE(two)),
				 0);
		loop(f);
	}
	assert_in_range(lowest_free_fd(), before, before + 1); /* the first one is kept */
	end(&workers[0]);
	loop(f);
	assert_string_equal(l.heard, "stopped io.snapwalk.Failed");
}

TEST_OF(test_failures, struct fixture *f)
{
	static const struct {
		int code;
		const char *name;
	} cases[] = {
		{SW_E_NO_PROCESS, "io.snapwalk.NoSuchProcess"},
		{SW_E_EXITED, "io.snapwalk.TargetExited"},
		{SW_E_CHANGED, "io.snapwalk.ProcessChanged"},
		{SW_E_TRACED, "io.snapwalk.AlreadyTraced"},
		{SW_E_ZOMBIE, "io.snapwalk.NotTraceable"},
		{SW_E_STOP_TIMEOUT, "io.snapwalk.StopTimeout"},
		{SW_E_NOT_PERMITTED, "io.snapwalk.NotPermitted"},
		{SW_E_MEMORY, "io.snapwalk.Failed"},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		struct sw_worker_failed failed = {.code = cases[i].code, .rule = 77};
		struct listener l = listener_new();
		/* Not terminated: it is cut. */
		memset(failed.message, 'x', sizeof(failed.message));
		submit(f, (pid_t) (42 + i), 9, &l);
		loop(f);
		say(&workers[i], SW_WORKER_FAILED, &failed, sizeof(failed));
		end(&workers[i]);
		loop(f);
		assert_string_equal(l.heard + strlen("stopped "), cases[i].name);
	}
}

TEST_OF(test_cancel, struct fixture *f)
{
	struct listener a = listener_new(), b = listener_new();
	submit(f, 42, 9, &a);
	sw_waiter_cancel(&a.waiter);
	loop(f);
	assert_int_equal(n_workers, 0);
	assert_true(TAILQ_EMPTY(&f->jobs.list));
	/* A job that runs goes on without a waiter. */
	submit(f, 42, 9, &b);
	loop(f);
	sw_waiter_cancel(&b.waiter);
	say_dump(&workers[0], "0-2");
	end(&workers[0]);
	loop(f);
	assert_string_equal(b.heard, "stopped ");
	assert_int_equal(f->counters.captures_total, 1);
	assert_int_equal(f->jobs.n_running, 0);
}

TEST_OF(test_busy, struct fixture *f)
{
	const struct sw_caller user = {.uid = 5, .gid = 5};
	struct listener l[4] = {listener_new(), listener_new(), listener_new(), listener_new()};
	struct sw_dump *dump = NULL;
	struct sw_refusal refusal = {0};
	f->config.queue = 2;
	submit(f, 42, 1, &l[0]);
	submit(f, 42, 2, &l[1]);
	assert_int_equal(submit_as(f, &root, 42, 3, &l[2], &dump, &refusal), SW_SUBMITTED_REFUSED);
	assert_string_equal(refusal.name, "io.snapwalk.Busy");
	assert_string_equal(json_object_get_string(
				    json_object_object_get(refusal.parameters, "why")),
			    "queue");
	f->config.queue = 1000;
	enum sw_submitted r = SW_SUBMITTED_WAIT;
	for (uint32_t i = 0; i <= f->config.rate_burst; i++) {
		struct listener *nobody = &l[3];
		assert_int_equal(r, SW_SUBMITTED_WAIT);
		r = submit_as(f, &user, 50, 100 + i, nobody, &dump, &refusal);
		sw_waiter_cancel(&nobody->waiter);
	}
	assert_int_equal(r, SW_SUBMITTED_REFUSED);
	assert_string_equal(json_object_get_string(
				    json_object_object_get(refusal.parameters, "why")),
			    "rate");
	sw_refusal_deinit(&refusal);
	sw_waiter_cancel(&l[0].waiter);
	sw_waiter_cancel(&l[1].waiter);
}

TEST_OF(test_deadline, struct fixture *f)
{
	struct listener a = listener_new(), b = listener_new();
	f->config.timeout_ms = 1;
	f->config.workers = 1;
	submit(f, 42, 1, &a);
	while (strstr(a.heard, "Timeout") == NULL)
		assert_true(sd_event_run(f->event, 5000000) > 0);
	assert_string_equal(a.heard, "stopped io.snapwalk.Timeout");
	assert_int_equal(f->counters.workers_killed_total, 1);
	/* The job's place is free, whether its process is really gone or not. */
	assert_int_equal(f->jobs.n_running, 0);
	assert_int_equal(f->jobs.n_left, 1);
	f->config.timeout_ms = 60000;
	submit(f, 43, 2, &b);
	while (b.heard[0] == '\0')
		assert_true(sd_event_run(f->event, 5000000) > 0);
	assert_string_equal(b.heard, "stopped ");
	assert_int_equal(f->jobs.n_running, 1);
	end(&workers[0]);
	loop(f);
	assert_int_equal(f->jobs.n_left, 0);
	assert_int_equal(f->jobs.n_running, 1);
	end(&workers[1]);
	loop(f);
	assert_int_equal(f->jobs.n_running, 0);
}

/* A worker of events has as long as a capture to begin, and stops nobody by then. Then it has its own time. */
TEST_OF(test_deadline_events, struct fixture *f)
{
	const struct sw_worker_events hour = {.wanted = true,
					      .kept = true,
					      .end_ns = sw_clock_ns() + INT64_C(3600000000000)};
	const struct sw_worker_resumed resumed = {.target = target_creds};
	struct listener a = listener_new(), b = listener_new();
	watching = &hour;
	f->config.timeout_ms = 1;
	submit(f, 42, 1, &a);
	while (strstr(a.heard, "Timeout") == NULL)
		assert_true(sd_event_run(f->event, 5000000) > 0);
	end(&workers[0]);
	loop(f);
	assert_int_equal(f->counters.stopped_us_total, 0);
	f->config.timeout_ms = 500;
	submit(f, 42, 1, &b);
	watching = NULL;
	loop(f);
	sw_cleanup(sw_close_p) int fd = open(target_program, O_RDONLY | O_CLOEXEC);
	assert_int_equal(sw_worker_event_send(workers[1].stream, SW_WORKER_RESUMED, &resumed,
					      sizeof(resumed), fd, NULL),
			 0);
	loop(f);
	const int64_t end_ns = sw_clock_ns() + INT64_C(600000000);
	for (int64_t ns; (ns = end_ns - sw_clock_ns()) > 0;)
		(void) sd_event_run(f->event, (uint64_t) ns / 1000);
	assert_null(strstr(b.heard, "Timeout"));
	sw_waiter_cancel(&b.waiter);
	end(&workers[1]);
	loop(f);
}

/* ---- who may have what is there already ---- */

static const struct sw_caller user_five = {.uid = 5, .gid = 5, .same_user_ns = true};

/* Captures for a caller; the dump's id is "0-1". */
static void capture_as(struct fixture *f, const struct sw_caller *caller)
{
	struct listener l = listener_new();
	struct sw_dump *dump = NULL;
	struct sw_refusal refusal = {0};
	assert_int_equal(submit_as(f, caller, 42, 9, &l, &dump, &refusal), SW_SUBMITTED_WAIT);
	loop(f);
	say_dump(&workers[n_workers - 1], "0-1");
	end(&workers[n_workers - 1]);
	loop(f);
	assert_string_equal(l.heard, "stopped resumed dump");
}

/* Is it returned again? What is queued instead is not made. */
static bool has_recent(struct fixture *f, const struct sw_caller *caller)
{
	struct listener l = listener_new();
	struct sw_dump *dump = NULL;
	struct sw_refusal refusal = {0};
	enum sw_submitted r = submit_as(f, caller, 42, 9, &l, &dump, &refusal);
	if (r == SW_SUBMITTED_DUMP) {
		assert_string_equal(dump->id, "0-1");
		sw_dump_unref(dump);
		return true;
	}
	assert_int_equal(r, SW_SUBMITTED_WAIT);
	sw_waiter_cancel(&l.waiter);
	return false;
}

TEST_OF(test_recent_right, struct fixture *f)
{
	static const struct sw_caller others[] = {
		{.uid = 6, .gid = 5, .same_user_ns = true},
		{.uid = 5, .gid = 6, .same_user_ns = true},
		{.uid = 5, .gid = 5},
		{.uid = 5, .gid = 5, .same_user_ns = true, .privileged = true},
	};
	capture_as(f, &user_five);
	assert_true(has_recent(f, &user_five));
	for (size_t i = 0; i < SW_ARRAY_SIZE(others); i++)
		assert_false(has_recent(f, &others[i]));
	assert_true(has_recent(f, &user_five));
	/* Root's is not for the process's own user, but for others who may see everything. */
	sw_recent_clear(&f->jobs.recent);
	capture_as(f, &root);
	assert_false(has_recent(f, &user_five));
	assert_true(has_recent(f, &others[3]));
}

/* The same for one that is being made. */
TEST_OF(test_running_right, struct fixture *f)
{
	static const struct sw_caller others[] = {
		{.uid = 6, .gid = 5, .same_user_ns = true},
		{.uid = 5, .gid = 6, .same_user_ns = true},
		{.uid = 5, .gid = 5},
		{.uid = 5, .gid = 5, .same_user_ns = true, .privileged = true},
	};
	struct listener l = listener_new(), mine = listener_new(), l2[4];
	struct sw_dump *dump = NULL;
	struct sw_refusal refusal = {0};
	(void) submit_as(f, &user_five, 42, 9, &l, &dump, &refusal);
	loop(f);
	(void) submit_as(f, &user_five, 42, 9, &mine, &dump, &refusal);
	assert_true(mine.waiter.coalesced);
	for (size_t i = 0; i < SW_ARRAY_SIZE(others); i++) {
		l2[i] = listener_new();
		(void) submit_as(f, &others[i], 42, 9, &l2[i], &dump, &refusal);
		assert_false(l2[i].waiter.coalesced);
		sw_waiter_cancel(&l2[i].waiter);
	}
	end(&workers[0]);
	loop(f);
}

/* A change of anything that decides who may look at the process ends the dump, also when the change
 * is taken back. */
TEST_OF(test_recent_rights, struct fixture *f)
{
	for (int i = 0; i < 13; i++) {
		const struct sw_target_creds before = target_creds;
		sw_recent_clear(&f->jobs.recent);
		capture_as(f, &root);
		assert_true(has_recent(f, &root));
		if (i < 3)
			target_creds.rights.uid[i]++;
		else if (i < 6)
			target_creds.rights.gid[i - 3]++;
		else if (i < 10)
			target_creds.rights.caps[i - 6]++;
		else if (i == 10)
			target_creds.rights.cap_permitted = 1;
		else if (i == 11)
			target_creds.rights.dumpable = false;
		else
			target_creds.rights.user_ns = sw_user_ns_self();
		assert_false(has_recent(f, &root));
		target_creds = before;
		assert_false(has_recent(f, &root));
		n_workers = 0;
	}
}

/* Where nothing may be young there is nothing; and a dump that was young is given until its time. */
TEST_OF(test_recent_age, struct fixture *f)
{
	f->config.min_interval_ms = 0;
	capture_as(f, &root);
	assert_false(has_recent(f, &root));
	f->config.min_interval_ms = 1;
	capture_as(f, &root);
	int64_t end_ns = sw_clock_ns() + 2000000;
	while (sw_clock_ns() < end_ns)
		(void) sched_yield();
	assert_false(has_recent(f, &root));
}

/* A child that executes a program when told to, with the same number and start time. */
TEST_OF(test_recent_exec, struct fixture *f)
{
	int go[2], done[2];
	char byte = 0;
	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	assert_int_equal(pipe2(done, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0) {
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL); /* when an assertion fails */
		(void) !read(go[0], &byte, 1);
		execl("/bin/sleep", "sleep", "1000", NULL);
		_exit(1);
	}
	(void) close(done[1]); /* the child's is closed by exec */
	(void) snprintf(target_program, sizeof(target_program), "/proc/%d/pagemap", (int) pid);
	capture_as(f, &root);
	assert_true(has_recent(f, &root));
	assert_int_equal(write(go[1], "", 1), 1);
	assert_int_equal(read(done[0], &byte, 1), 0);
	assert_false(has_recent(f, &root));
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	(void) close(go[0]);
	(void) close(go[1]);
	(void) close(done[0]);
	/* Where the kernel does not say whether it still runs, nothing is returned again. */
	strcpy(target_program, "/nowhere");
	capture_as(f, &root);
	assert_false(has_recent(f, &root));
}

static void open_store(struct fixture *f, char directory[static 64])
{
	strcpy(directory, "/tmp/snapwalk-jobs-XXXXXX");
	assert_non_null(mkdtemp(directory));
	free(f->config.state_dir);
	f->config.state_dir = strdup(directory);
	f->config.store = true;
	f->config.store_keep_free = 0;
	sw_publish_reconfigure(&f->jobs.publisher, &f->config);
}

static void remove_store(struct fixture *f, const char *directory)
{
	char path[128];
	for (size_t i = 0; i < sw_store_count(f->jobs.publisher.store); i++) {
		(void) snprintf(path, sizeof(path), "%s/%s.json.zst", directory,
				sw_store_entry(f->jobs.publisher.store, i)->id);
		assert_int_equal(unlink(path), 0);
	}
	assert_int_equal(rmdir(directory), 0);
}

/* "store" of whoever joins, a capture under way or its dump, is as good as that of the first. */
TEST_OF(test_store_joining, struct fixture *f)
{
	struct listener a = listener_new(), b = listener_new();
	struct sw_dump *dump = NULL;
	struct sw_refusal refusal = {0};
	char directory[64];
	open_store(f, directory);
	target_creds.rights.user_ns = sw_user_ns_self();
	submit(f, 42, 9, &a);
	loop(f);
	storing = true;
	submit(f, 42, 9, &b);
	storing = false;
	say_dump(&workers[0], "0-1");
	end(&workers[0]);
	loop(f);
	assert_true(b.coalesced);
	assert_int_equal(sw_store_count(f->jobs.publisher.store), 1);
	/* The process protected itself when it was captured: nobody's but root's, who asks whenever. */
	sw_recent_clear(&f->jobs.recent);
	target_creds.rights.dumpable = 0;
	submit(f, 43, 9, &a);
	loop(f);
	say_dump(&workers[1], "0-2");
	end(&workers[1]);
	loop(f);
	assert_int_equal(sw_store_count(f->jobs.publisher.store), 1);
	storing = true;
	assert_int_equal(submit_as(f, &root, 43, 9, &b, &dump, &refusal), SW_SUBMITTED_DUMP);
	storing = false;
	assert_true(dump->stored);
	sw_dump_unref(dump);
	assert_int_equal(sw_store_count(f->jobs.publisher.store), 2);
	const struct sw_subject *hidden = &sw_store_find(f->jobs.publisher.store, "0-2")->subject;
	const struct sw_subject *plain = &sw_store_find(f->jobs.publisher.store, "0-1")->subject;
	const struct sw_caller user = {.uid = 5, .same_user_ns = true};
	assert_int_equal(sw_authorize(&f->config, &user, hidden), SW_DENY_DUMPABLE);
	assert_int_equal(sw_authorize(&f->config, &user, plain), SW_DENY_NONE);
	assert_string_equal(plain->exe, "/bin/a");
	remove_store(f, directory);
}

/* A pull has the daemon's right to the process, but its caller's part of the queue; root's is all. */
TEST_WITH(test_pulled_queue, setup, teardown)
{
	static const struct sw_caller gate = {.uid = 5,
					      .gid = 5,
					      .privileged = true,
					      .same_user_ns = true};
	struct fixture *f = *state;
	struct listener l[17], roots = listener_new();
	struct sw_dump *dump = NULL;
	struct sw_refusal refusal = {0};
	size_t n = 0;
	f->config.queue = 16;
	pulling = true;
	for (pid_t i = 0; i < 17; i++) {
		l[i] = listener_new();
		enum sw_submitted r = submit_as(f, &gate, 100 + i, 9, &l[i], &dump, &refusal);
		n += r == SW_SUBMITTED_WAIT;
		sw_refusal_deinit(&refusal);
	}
	assert_int_equal(n, 4);
	assert_int_equal(submit_as(f, &root, 300, 9, &roots, &dump, &refusal), SW_SUBMITTED_WAIT);
	pulling = false;
	sw_waiter_cancel(&roots.waiter);
	for (size_t i = 0; i < 17; i++)
		sw_waiter_cancel(&l[i].waiter);
}

/* A user who asks for much waits behind those who ask for little, and cannot fill the queue. */
TEST_OF(test_fair_queue, struct fixture *f)
{
	static const struct sw_caller a = {.uid = 5, .gid = 5}, b = {.uid = 6, .gid = 6};
	struct listener l[8], one = listener_new(), other = listener_new(), roots = listener_new();
	struct sw_dump *dump = NULL;
	struct sw_refusal refusal = {0};
	f->config.workers = 1;
	f->config.queue = 16;
	for (pid_t i = 0; i < 4; i++) {
		l[i] = listener_new();
		assert_int_equal(submit_as(f, &a, 100 + i, 9, &l[i], &dump, &refusal),
				 SW_SUBMITTED_WAIT);
	}
	assert_int_equal(submit_as(f, &a, 104, 9, &one, &dump, &refusal), SW_SUBMITTED_REFUSED);
	sw_refusal_deinit(&refusal);
	loop(f);
	assert_int_equal(workers[0].request.pid, 100);
	assert_int_equal(submit_as(f, &b, 200, 9, &other, &dump, &refusal), SW_SUBMITTED_WAIT);
	assert_int_equal(submit_as(f, &root, 300, 9, &roots, &dump, &refusal), SW_SUBMITTED_WAIT);
	static const pid_t expected[] = {200, 300, 101, 102, 103};
	for (size_t i = 0; i < SW_ARRAY_SIZE(expected); i++) {
		end(&workers[i]);
		loop(f);
		assert_int_equal(n_workers, i + 2);
		assert_int_equal(workers[i + 1].request.pid, expected[i]);
	}
	end(&workers[5]);
	loop(f);
	/* Users together leave a quarter to root. */
	for (uid_t uid = 10; uid < 13; uid++)
		for (pid_t i = 0; i < 4; i++) {
			const struct sw_caller user = {.uid = uid, .gid = uid};
			struct listener *nobody = calloc(1, sizeof(*nobody));
			*nobody = listener_new();
			assert_int_equal(submit_as(f, &user, (pid_t) (1000 + uid * 10) + i, 9,
						   nobody, &dump, &refusal),
					 SW_SUBMITTED_WAIT);
			sw_waiter_detach(&nobody->waiter);
			free(nobody);
		}
	assert_int_equal(f->jobs.n_queued, 12);
	assert_int_equal(submit_as(f, &b, 400, 9, &other, &dump, &refusal), SW_SUBMITTED_REFUSED);
	sw_refusal_deinit(&refusal);
	roots = listener_new();
	assert_int_equal(submit_as(f, &root, 400, 9, &roots, &dump, &refusal), SW_SUBMITTED_WAIT);
	sw_waiter_cancel(&roots.waiter);
}
