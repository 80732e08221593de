/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The worker of a series: it has capabilities as long as it lives, and parses nothing. Registers come from the
 * kernel, stacks are bytes to it, and what its parser says is passed on, within limits.
 */
#include "worker/series.h"
#include "worker/parser.h"
#include "worker/turn.h"
#include "worker/wire.h"
#include "bytes.h"
#include "cleanup.h"
#include "errors.h"

#include <snapwalk/clock.h>
#include <snapwalk/sampler.h>
#include <snapwalk/schedule.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>

enum {
	NS_PER_US = 1000,
	NS_PER_S = 1000000000,
	MS_PER_S = 1000,
	PIPE_BYTES = 1 << 20,
	FAILURES_MAX = 3, /* one after the other */
};

struct series {
	struct sw_worker *worker;
	struct sw_target *target;
	struct sw_sampler *sampler;
	struct sw_schedule schedule;
	struct sw_worker_round round;
	pid_t pid; /* of the process */
	struct sw_parser_child parser;
	int proc_fd;
	struct sw_target_rights rights; /* of the target at the first sample */
	unsigned n_failures;
};

/* ---- the parser ------------------------------------------------------------------------------ */

static int parser_start(struct series *s, const struct sw_sample *first, struct sw_error *err)
{
	int r = sw_parser_fork(&s->parser, err);
	if (r < 0)
		return r;
	if (s->parser.pid == 0) {
		struct sw_parser parser = {.worker = s->worker,
					   .sampler = s->sampler,
					   .first = *first,
					   .from_fd = s->parser.from_fd,
					   .to_fd = s->parser.to_fd};
		sw_parser_run(&parser);
	}
	(void) fcntl(s->parser.to_fd, F_SETPIPE_SZ, PIPE_BYTES); /* or as it is: slower */
	return 0;
}

/* Wait until the parser is done with the last sample, or the broker does not want any more
 * (*ret_end). */
static int parser_wait(struct series *s, bool *ret_end, struct sw_error *err)
{
	struct sw_worker_event event;
	struct sw_parser_done done;
	for (;;) {
		struct pollfd events[] = {{.fd = s->parser.from_fd, .events = POLLIN},
					  {.fd = *ret_end ? -1 : s->worker->stream,
					   .events = POLLIN | POLLRDHUP}};
		if (poll(events, SW_ARRAY_SIZE(events), -1) < 0)
			continue; /* EINTR */
		*ret_end |= events[1].revents != 0;
		if (events[0].revents != 0)
			break;
	}
	if (!sw_read_all(s->parser.from_fd, &event, sizeof(event)))
		return sw_parser_is_gone(err);
	if (event.type != SW_PARSER_DONE)
		return sw_parser_failure(s->parser.from_fd, &event, err);
	if (event.size != sizeof(done) || !sw_read_all(s->parser.from_fd, &done, sizeof(done)))
		return sw_parser_is_gone(err);
	if (done.code < 0 && s->round.n_samples > 0) /* nothing was made of it */
		s->round.n_samples--;
	/* Other maps end the series: the next worker has them. */
	if (done.unknown_tid > 0)
		sw_sampler_note_unknown_code(s->sampler, done.unknown_tid);
	return 0;
}

/* The profile, to the broker. */
static int profile_pass(struct series *s, struct sw_error *err)
{
	s->round.n_late = s->schedule.n_late;
	int r = sw_worker_event_write(s->parser.to_fd, SW_PARSER_END, &s->round, sizeof(s->round),
				      err);
	return r < 0 ? sw_parser_is_gone(err) : sw_parser_pass(s->worker, s->parser.from_fd, err);
}

/* ---- samples --------------------------------------------------------------------------------- */

static int sample_take(struct series *s, struct sw_sample *ret, struct sw_error *err)
{
	struct sw_worker *w = s->worker;
	const int wait_ms = (int) w->request.max_stop_ms + MS_PER_S;
	if (!sw_turn_take(w->turns_fd, s->pid, wait_ms))
		return sw_fail(err, SW_E_TIMEOUT, "the process is captured by others");
	int r = sw_sampler_next(s->sampler, ret, err);
	sw_turn_give(w->turns_fd, s->pid);
	return r;
}

static void sample_count(struct series *s, const struct sw_sample *sample,
			 struct sw_worker_sampled *ret)
{
	s->round.n_samples++;
	s->round.stopped_ns += sample->stopped_ns;
	if (sample->longest_ns > s->round.longest_ns)
		s->round.longest_ns = sample->longest_ns;
	s->round.n_interrupted += sample->n_interrupted;
	*ret = (struct sw_worker_sampled){.stopped_us = sample->stopped_ns / NS_PER_US,
					  .longest_us = sample->stopped_ns / NS_PER_US,
					  .n_samples = 1,
					  .n_threads = sample->n_threads};
}

/* A caller who had the right to see the first sample has it for this one, too. */
static bool is_permitted(struct series *s)
{
	struct sw_worker *w = s->worker;
	return sw_worker_permit(w, s->proc_fd) &&
	       memcmp(&w->creds.rights, &s->rights, sizeof(s->rights)) == 0;
}

/* 1: go on; 0: the series is over, and what there is counts; else the failure of all. */
static int sample_next(struct series *s, struct sw_error *err)
{
	struct sw_sample sample;
	struct sw_worker_sampled more;
	struct sw_error why = {0};
	const void *bytes = NULL;
	size_t size = 0;
	int r = sample_take(s, &sample, &why);
	if (r == -SW_E_CHANGED || r == -SW_E_EXITED || r == -SW_E_NO_PROCESS || r == -SW_E_ZOMBIE ||
	    r == -SW_E_NOMEM)
		return 0;
	if (r < 0)
		return ++s->n_failures < FAILURES_MAX;
	s->n_failures = 0;
	if (sample.new_program || !is_permitted(s) ||
	    sw_sampler_pack(s->sampler, &sample, &bytes, &size, &why) < 0)
		return 0;
	r = sw_worker_event_write(s->parser.to_fd, SW_PARSER_SAMPLE, bytes, size, err);
	if (r < 0)
		return sw_parser_is_gone(err);
	sample_count(s, &sample, &more);
	r = sw_worker_life_tell(&s->worker->life, s->worker->stream, &more, err);
	return r < 0 ? r : 1;
}

static int samples_take(struct series *s, struct sw_error *err)
{
	struct sw_worker *w = s->worker;
	bool waits = true; /* for the parser: one sample is always with it */
	bool over = false;
	int r = 1;
	while (r > 0) {
		int64_t due_ns = sw_schedule_next_ns(&s->schedule, 0);
		if (waits)
			r = parser_wait(s, &over, err);
		if (r < 0)
			return r;
		waits = false;
		r = 1;
		if (over || !sw_worker_life_wait(&w->life, w->stream, due_ns) ||
		    !sw_schedule_begin(&s->schedule, sw_clock_ns()))
			break;
		uint64_t before = s->round.n_samples;
		r = sample_next(s, err);
		waits = s->round.n_samples > before;
	}
	if (r >= 0 && waits)
		r = parser_wait(s, &over, err);
	return r < 0 ? r : 0;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int first_take(struct series *s, struct sw_sample *ret, struct sw_error *err)
{
	struct sw_worker *w = s->worker;
	struct sw_worker_sampled more;
	const struct sw_worker_profile *asked = &w->request.profile;
	sw_schedule_init(&s->schedule, asked->begin_ns, asked->end_ns, asked->rate_hz, 0);
	sw_schedule_join(&s->schedule, w->begin_ns);
	if (s->schedule.next > 0) /* this one: it was due before we began */
		s->schedule.next--;
	(void) sw_schedule_begin(&s->schedule,
				 w->begin_ns); /* the broker has asked whether it is over */
	int r = sample_take(s, ret, err);
	if (r < 0)
		return r;
	s->rights = w->creds.rights;
	sample_count(s, ret, &more);
	const struct sw_worker_resumed event = {.stopped_us = more.stopped_us,
						.target = w->creds,
						.runs_required = sw_worker_runs_required(w)};
	more.stopped_us = more.longest_us = 0;
	r = sw_worker_event_send(w->stream, SW_WORKER_RESUMED, &event, sizeof(event), w->program_fd,
				 err);
	return r < 0 ? r : sw_worker_life_tell(&w->life, w->stream, &more, err);
}

static int proc_open(struct series *s, struct sw_error *err)
{
	s->proc_fd = sw_target_proc_open(s->pid);
	return s->proc_fd >= 0 ? 0
			       : sw_fail(err, SW_E_EXITED, "process %d has exited", (int) s->pid);
}

int sw_worker_series_run(struct sw_worker *worker, struct sw_target *target, struct sw_error *err)
{
	const struct sw_recorder_options how = sw_worker_record_options(worker);
	const struct sw_sampler_programs programs = {.threads_fd = worker->threads_fd,
						     .moved_fd = worker->moved_fd};
	struct series s = {.worker = worker,
			   .target = target,
			   .pid = sw_target_pid(target),
			   .proc_fd = -EBADF};
	struct sw_sample first;
	sw_worker_life_begin(&worker->life, worker->request.profile.end_ns);
	int r = proc_open(&s, err);
	if (r == 0)
		r = sw_sampler_create_lent(sw_session_context(worker->session), target,
					   &how.how.snapshot, &programs, &s.sampler, err);
	if (r == 0)
		r = first_take(&s, &first, err);
	if (r == 0)
		r = parser_start(&s, &first, err);
	if (r < 0)
		return r;
	bool light = sw_sampler_is_light(s.sampler);
	sw_sampler_fix(s.sampler);
	if (light)
		r = samples_take(&s, err);
	else
		r = parser_wait(&s, &(bool){true}, err);
	if (r < 0)
		return r;
	s.round.end_ns = s.round.until_ns = sw_clock_ns();
	if (!light) { /* as any single one */
		s.round.end_ns = worker->begin_ns + 1;
		s.round.until_ns =
			worker->begin_ns + NS_PER_S / (int64_t) worker->request.profile.rate_hz;
	}
	r = sw_worker_life_flush(&worker->life, worker->stream, err);
	if (r == 0)
		r = profile_pass(&s, err);
	if (r == 0)
		(void) waitpid(s.parser.pid, NULL, 0); /* has ended: its time is ours */
	return r;
}
