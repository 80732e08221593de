/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The messages of a worker to the broker: parts of a stream, each u8 how many descriptors come
 * along | u16 n | n bytes. The worker was asked for a dump, and then for a sample of a profile. The
 * spawner is the one below; the event loop is the real one. Each waiting call is answered once, and
 * nothing stays behind.
 */
#include "fuzz.h"
#include "jobs/job.h"
#include "jobs/state.h"
#include "worker/wire.h"
#include "bytes.h"
#include "cleanup.h"

#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

enum { PARTS_MAX = 64, LOOPS_MAX = 1000 };

static int stream, gone; /* the worker's */
static size_t n_done;
static bool wants_profile;

/* ---- instead of the daemon's ------------------------------------------------------------------ */

int sw_spawner_spawn(struct sw_spawner *spawner, const struct sw_worker_request *request,
		     int target_pidfd, int names_fd, int *ret_pidfd, int *ret_stream,
		     struct sw_error *err)
{
	int ends[2];
	check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
	gone = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	stream = ends[1];
	*ret_stream = ends[0];
	*ret_pidfd = fcntl(gone, F_DUPFD_CLOEXEC, 0);
	return 0;
}

int sw_spawner_configure(struct sw_spawner *spawner, const struct sw_config *config,
			 struct sw_error *err)
{
	return 0;
}

void sw_log(int priority, const char *fmt, ...)
{
}

void sw_log_captured(const struct sw_log_capture *capture)
{
}

/* ---- one capture ------------------------------------------------------------------------------ */

static void on_done(struct sw_waiter *waiter, const struct sw_outcome *outcome)
{
	n_done++;
	check(outcome->dump != NULL || outcome->refusal->name != NULL);
	check(outcome->dump == NULL || outcome->dump->id[0] != '\0');
	check(outcome->dump == NULL || outcome->dump->profile == wants_profile);
}

static void loop(sd_event *event)
{
	for (int i = 0; sd_event_run(event, 0) > 0; i++)
		check(i < LOOPS_MAX);
}

static int lowest_free_fd(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	check(fd >= 0 && close(fd) == 0);
	return fd;
}

static void say_all(sd_event *event, struct sw_bytes input)
{
	const int fds[SW_WIRE_FDS_MAX] = {gone, gone};
	struct sw_bytes part;
	uint8_t n_fds;
	uint16_t n;
	uint64_t at = 0;
	for (int i = 0; i < PARTS_MAX && sw_bytes_u8(input, at, &n_fds) &&
			sw_bytes_u16(input, at + 1, &n) && sw_bytes_sub(input, at + 3, n, &part);
	     i++, at += 3 + (uint64_t) n) {
		/* Nobody listens any more, or it is full: that is said by other means. */
		(void) sw_wire_send(stream, part.data, part.size, fds,
				    n > 0 ? n_fds % (SW_WIRE_FDS_MAX + 1) : 0);
		loop(event);
	}
}

static void capture(const struct sw_config *config, sd_event *event, struct sw_bytes input,
		    const struct sw_worker_profile *profile)
{
	static const struct sw_caller root = {.privileged = true, .same_user_ns = true};
	struct sw_counters counters = {0};
	struct sw_spawner spawner = {.fd = -EBADF, .pidfd = eventfd(0, EFD_CLOEXEC)};
	struct sw_jobs jobs;
	struct sw_waiter waiter = {.done = on_done};
	struct sw_dump *dump = NULL;
	struct sw_refusal refusal = {0};
	struct sw_found found = {.pid = 42,
				 .starttime = 7,
				 .pidfd = fcntl(spawner.pidfd, F_DUPFD_CLOEXEC, 0)};
	const struct sw_submission s = {.caller = &root,
					.found = &found,
					.profile = profile,
					.options = {.depth = 9, .max_stop_ms = 100}};
	sw_jobs_init(&jobs, config, &counters);
	check(sw_jobs_start(&jobs, event, &spawner, NULL) == 0);
	n_done = 0;
	wants_profile = profile != NULL;
	check(sw_job_submit(&jobs, &s, &waiter, &dump, &refusal) == SW_SUBMITTED_WAIT);
	sw_found_deinit(&found);
	loop(event);
	say_all(event, input);
	check(n_done <= 1 && close(stream) == 0);
	loop(event);
	check(n_done == 1);
	check(eventfd_write(gone, 1) == 0 && close(gone) == 0);
	loop(event);
	check(jobs.n_queued == 0 && jobs.n_running == 0 && jobs.n_left == 0 &&
	      TAILQ_EMPTY(&jobs.list));
	check(counters.captures_total + counters.captures_failed_total <= 1);
	sw_jobs_deinit(&jobs);
	check(close(spawner.pidfd) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct sw_config config;
	static const struct sw_worker_profile profile = {.rate_hz = 10};
	static sd_event *event;
	if (event == NULL) {
		check(sw_config_init(&config) == 0 && sd_event_new(&event) >= 0);
		config.store = false;
		config.rules_dir[0] = '\0';
	}
	int before = lowest_free_fd();
	capture(&config, event, (struct sw_bytes){data, size}, NULL);
	capture(&config, event, (struct sw_bytes){data, size}, &profile);
	check(lowest_free_fd() == before);
	return 0;
}
