/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "worker/dumps.h"
#include "worker/capture.h"
#include "worker/names.h"
#include "worker/parser.h"
#include "worker/turn.h"
#include "worker/wire.h"
#include "bytes.h"
#include "child.h"
#include "cleanup.h"
#include "errors.h"

#include <snapwalk/clock.h>
#include <snapwalk/sampler.h>

#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum {
	NS_PER_MS = 1000000,
	SLACK_MS = 1000, /* the broker ends it before: this is for a broker that does not */
	PIPE_BYTES = 1 << 20,
	MALLOC_BYTES = 16 << 20,
	SNAPSHOT_BYTES = 32 << 20, /* what is larger has a parser of its own */
	PARSER_BYTES =
		32 << 20, /* of its own memory: one with more does not wait for the next capture */
};

struct dumps {
	struct sw_worker *worker;
	struct sw_target *target;
	int64_t end_ns;                 /* CLOCK_MONOTONIC */
	uint64_t code;                  /* of the first one; 0: there was none */
	struct sw_target_rights rights; /* likewise: of the target */
	struct sw_parser_child parser;  /* pid 0: none */
	/* Owned: SNAPSHOT_BYTES that both have. Only written by the worker, which believes nothing in there. */
	void *shared;
};

/* The data that a parser must have of a capture beside its snapshot, which is in the shared
 * memory. */
struct turn {
	uint64_t seq, size;
	int64_t begin_ns;
};

/* ---- the parser: without capabilities ---------------------------------------------------------- */

static int parse(struct sw_worker *worker, struct sw_snapshot *snap, bool keep,
		 struct sw_error *err)
{
	const struct sw_origin origin = {.kind = SW_FROM_SNAPSHOT, .snapshot = snap};
	const struct sw_pipeline_options options = sw_worker_capture_options(worker);
	struct sw_pipeline made;
	int r = sw_pipeline_run(worker->session, &origin, &options, &made, err);
	if (r < 0)
		return r;
	if (keep) /* the next worker begins after our dump */
		sw_names_keep(worker->names_fd, worker->session);
	r = sw_worker_report_send(worker, made.report, err);
	sw_pipeline_deinit(&made);
	return r;
}

/* The next snapshot. 0: the worker has no more. */
static int next_receive(struct dumps *d, int from_fd, const struct sw_snapshot *base,
			struct sw_snapshot **ret, struct sw_error *err)
{
	struct sw_worker_event event;
	struct turn turn;
	if (!sw_read_all(from_fd, &event, sizeof(event)))
		return 0;
	if (event.type != SW_PARSER_NEXT || event.size != sizeof(turn) ||
	    !sw_read_all(from_fd, &turn, sizeof(turn)) || turn.size > SNAPSHOT_BYTES)
		return sw_fail(err, SW_E_IO, "the worker is gone");
	d->worker->request.seq = turn.seq;
	d->worker->begin_ns = turn.begin_ns;
	int r = sw_snapshot_unpack(base, d->shared, turn.size, ret, err);
	return r < 0 ? r : 1;
}

/* The parser's results are kept for the next worker less and less often, at each power of two:
 * there is less and less that is new. */
static bool is_power_of_two(uint64_t n)
{
	return (n & (n - 1)) == 0;
}

static int parse_all(struct dumps *d, struct sw_snapshot *first, int from_fd, struct sw_error *err)
{
	int r = sw_worker_confine(d->worker, SW_WORKER_LIFE_MS, err);
	if (r == 0)
		r = parse(d->worker, first, true, err);
	for (uint64_t n = 2; r == 0; n++) {
		struct sw_snapshot *snap = NULL;
		r = next_receive(d, from_fd, first, &snap, err);
		if (r <= 0)
			break;
		r = parse(d->worker, snap, is_power_of_two(n), err);
		sw_snapshot_destroy(snap);
	}
	return r;
}

/* The whole life of the parser. */
__attribute__((noreturn)) static void parser_run(struct dumps *d, struct sw_snapshot *first,
						 int from_fd, int to_fd)
{
	struct sw_worker *worker = d->worker;
	struct sw_error err = {0};
	(void) prctl(PR_SET_NAME, "snapwalk-parser"); /* cannot fail */
	sw_close_p(&worker->stream);
	sw_close_p(&worker->target_pidfd);
	sw_close_p(&worker->program_fd);
	worker->stream = to_fd;
	int r = parse_all(d, first, from_fd, &err);
	if (r < 0) {
		const struct sw_worker_failed failed = sw_worker_failure(worker, -r, &err);
		/* When this fails the worker is gone. */
		(void) sw_worker_event_write(to_fd, SW_WORKER_FAILED, &failed, sizeof(failed),
					     NULL);
	}
	_exit(r < 0);
}

/* ---- the worker's side of it ------------------------------------------------------------------- */

static void parser_end(struct dumps *d)
{
	if (d->parser.pid == 0)
		return;
	(void) close(d->parser.to_fd);
	(void) close(d->parser.from_fd);
	sw_child_kill(d->parser.pidfd); /* kill(2) is refused to workers */
	while (waitpid(d->parser.pid, NULL, 0) < 0 && errno == EINTR)
		;
	sw_close_p(&d->parser.pidfd);
	d->parser.pid = 0;
}

/* A new one, which has the snapshot. */
static int parser_start(struct dumps *d, struct sw_snapshot *first, struct sw_error *err)
{
	int r = sw_parser_fork(&d->parser, err);
	if (r < 0)
		return r;
	if (d->parser.pid == 0)
		parser_run(d, first, d->parser.from_fd, d->parser.to_fd);
	(void) fcntl(d->parser.from_fd, F_SETPIPE_SZ, PIPE_BYTES); /* or as it is: slower */
	return 0;
}

/* To the one that is there. */
static int snapshot_pass(struct dumps *d, size_t size, struct sw_error *err)
{
	const struct turn turn = {.seq = d->worker->request.seq,
				  .size = size,
				  .begin_ns = d->worker->begin_ns};
	int r = sw_worker_event_write(d->parser.to_fd, SW_PARSER_NEXT, &turn, sizeof(turn), err);
	return r < 0 ? sw_parser_is_gone(err) : 0;
}

/* ---- captures ---------------------------------------------------------------------------------- */

static int take(struct dumps *d, struct sw_pipeline *ret, struct sw_error *err)
{
	struct sw_worker *w = d->worker;
	const pid_t pid = sw_target_pid(d->target);
	const struct sw_origin origin = {.kind = SW_FROM_TARGET, .target = d->target};
	struct sw_pipeline_options options = sw_worker_capture_options(w);
	options.last = SW_PIPELINE_TAKE;
	/* Without it the stop is tried all the same. */
	(void) sw_turn_take(w->turns_fd, pid, (int) w->request.max_stop_ms + SW_WORKER_TURN_MS);
	int r = sw_pipeline_run(w->session, &origin, &options, ret, err);
	sw_turn_give(w->turns_fd, pid);
	return r;
}

/* Whether the parser's results of captures before may be used: the same callers may see this one,
 * and the code is known. Notes what it is now. */
static bool is_as_before(struct dumps *d, const struct sw_snapshot *snap)
{
	const struct sw_worker *w = d->worker;
	const uint64_t code = sw_snapshot_native_code(snap);
	bool same = code != 0 && code == d->code &&
		    memcmp(&w->creds.rights, &d->rights, sizeof(d->rights)) == 0;
	d->code = code;
	d->rights = w->creds.rights;
	return same;
}

static bool parser_is_large(const struct dumps *d)
{
	char path[32], text[128];
	unsigned long long resident, shared;
	(void) snprintf(path, sizeof(path), "/proc/%d/statm", (int) d->parser.pid); /* fits */
	sw_cleanup(sw_close_p) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return true;
	text[n] = '\0';
	return sscanf(text, "%*u %llu %llu", &resident, &shared) != 2 || resident < shared ||
	       (resident - shared) * (uint64_t) sysconf(_SC_PAGESIZE) > PARSER_BYTES;
}

/* 1: another one may follow; 0: this was the last one. */
static int dump_make(struct dumps *d, struct sw_error *err)
{
	struct sw_worker *w = d->worker;
	struct sw_pipeline taken;
	size_t size = 0;
	int r = take(d, &taken, err);
	if (r < 0)
		return r;
	const bool first = d->parser.pid == 0;
	/* A dump that cannot be given to the parser gets a parser of its own, as the first one. */
	const bool given =
		is_as_before(d, taken.snap) && d->shared != MAP_FAILED &&
		sw_snapshot_pack(taken.snap, d->shared, SNAPSHOT_BYTES, &size, NULL) == 0;
	const bool stays = given || (first && d->code != 0 && d->shared != MAP_FAILED);
	r = sw_worker_resumed_send(w, taken.snap, stays, err);
	if (r == 0 && first && !stays) { /* as any worker, which ends: nothing is freed */
		r = sw_worker_confine(w, 0, err);
		return r < 0 ? r : parse(w, taken.snap, true, err);
	}
	if (r == 0 && given)
		r = snapshot_pass(d, size, err);
	else if (r == 0) {
		parser_end(d);
		r = parser_start(d, taken.snap, err);
	}
	if (r == 0)
		r = sw_parser_pass(w, d->parser.from_fd, err);
	sw_pipeline_deinit(&taken);
	if (r == 0 && given) /* its pages, too: the next one makes them anew; else they stay */
		(void) madvise(d->shared, SNAPSHOT_BYTES, MADV_REMOVE);
	return r < 0 ? r : stays && !parser_is_large(d);
}

/* Asked for one more? A target that has ended is let go of. */
static bool next_wait(struct dumps *d)
{
	struct sw_worker *w = d->worker;
	struct sw_worker_next next;
	for (;;) {
		struct pollfd events[] = {{.fd = w->stream, .events = POLLIN | POLLRDHUP},
					  {.fd = w->target_pidfd, .events = POLLIN}};
		const int64_t left_ms = (d->end_ns - sw_clock_ns()) / NS_PER_MS;
		int n = left_ms > 0 ? poll(events, SW_ARRAY_SIZE(events), (int) left_ms) : 0;
		if (n == 0 || (n > 0 && events[0].revents == 0))
			return false;
		if (n > 0)
			break;
	}
	if (!sw_read_all(w->stream, &next, sizeof(next)))
		return false;
	w->request.seq = next.seq;
	w->begin_ns = sw_clock_ns();
	return true;
}

int sw_worker_dumps_run(struct sw_worker *worker, struct sw_target *target, struct sw_error *err)
{
	struct dumps d = {.worker = worker,
			  .target = target,
			  .end_ns = sw_clock_ns() +
				    (SW_WORKER_LIFE_MS + SLACK_MS) * (int64_t) NS_PER_MS};
	/* Where there is no memory for it each dump has a worker. */
	d.shared = mmap(NULL, SNAPSHOT_BYTES, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	/* Memory that one capture needed stays there for the next one. */
	(void) mallopt(M_MMAP_THRESHOLD, MALLOC_BYTES);
	(void) mallopt(M_TRIM_THRESHOLD, MALLOC_BYTES);
	int r = dump_make(&d, err);
	while (r > 0 && next_wait(&d)) {
		r = sw_worker_look(worker, sw_target_pid(target), err);
		r = r < 0 ? r : dump_make(&d, err);
	}
	parser_end(&d);
	return r < 0 ? r : 0;
}
