/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "worker/parser.h"
#include "worker/names.h"
#include "worker/wire.h"
#include "sandbox/roles.h"
#include "bytes.h"
#include "cleanup.h"
#include "errors.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NS_PER_S = 1000000000 };

/* Where the recorder has its samples from. */
struct given {
	struct sw_parser *parser;
	bool had_first;
	char *bytes; /* owned: of the last one */
	size_t size, max;
	pid_t unknown_tid; /* of the last one; see struct sw_parser_done */
};

static bool sample_receive(struct given *g, size_t size)
{
	if (size > g->max) {
		free(g->bytes);
		g->bytes = malloc(size + size / 2);
		g->max = g->bytes != NULL ? size + size / 2 : 0;
	}
	g->size = size;
	return g->bytes != NULL && sw_read_all(g->parser->from_fd, g->bytes, size);
}

static int next(void *arg, struct sw_sample *ret, struct sw_error *err)
{
	struct given *g = arg;
	if (g->had_first)
		return sw_sampler_unpack(g->parser->sampler, g->bytes, g->size, ret, err);
	g->had_first = true;
	*ret = g->parser->first;
	return 0;
}

static void unknown_code(void *arg, pid_t tid)
{
	struct given *g = arg;
	g->unknown_tid = tid;
}

void sw_parser_leave(struct sw_worker *w)
{
	int *const fds[] = {&w->stream,      &w->target_pidfd, &w->program_fd,
			    &w->iterator_fd, &w->threads_fd,   &w->moved_fd,
			    &w->returns_fd,  &w->turns_fd,     &w->prober_fd};
	for (size_t i = 0; i < SW_ARRAY_SIZE(fds); i++)
		sw_close_p(fds[i]);
}

static int confine(struct sw_parser *p, struct sw_error *err)
{
	const struct sw_worker_request *request = &p->worker->request;
	(void) prctl(PR_SET_NAME, "snapwalk-parser"); /* cannot fail */
	sw_sampler_leave(p->sampler);
	sw_parser_leave(p->worker);
	return sw_sandbox_worker(request->memory_mib, request->names_timeout_ms + SW_WORKER_LIFE_MS,
				 &p->worker->unpacked, err);
}

/* Each sample until the end, which says what else is to be said. */
static int samples_count(struct given *g, struct sw_recorder *recorder, struct sw_worker_round *ret,
			 struct sw_error *err)
{
	struct sw_parser *p = g->parser;
	for (;;) {
		struct sw_worker_event event;
		g->unknown_tid = 0;
		int r = sw_recorder_sample(recorder, err);
		const struct sw_parser_done done = {.code = r, .unknown_tid = g->unknown_tid};
		int sent =
			sw_worker_event_write(p->to_fd, SW_PARSER_DONE, &done, sizeof(done), err);
		if (sent < 0 || r == -SW_E_NOMEM)
			return sent < 0 ? sent : r;
		if (!sw_read_all(p->from_fd, &event, sizeof(event)))
			return sw_fail(err, SW_E_IO, "the worker is gone");
		if (event.type == SW_PARSER_END && event.size == sizeof(*ret))
			return sw_read_all(p->from_fd, ret, sizeof(*ret))
				       ? 0
				       : sw_fail(err, SW_E_IO, "the worker is gone");
		if (event.type != SW_PARSER_SAMPLE || !sample_receive(g, event.size))
			return sw_fail(err, SW_E_NOMEM, "a sample cannot be had");
	}
}

static int parse(struct sw_parser *p, struct sw_error *err)
{
	struct sw_worker *worker = p->worker;
	struct given given = {.parser = p};
	const struct sw_recorder_source source = {.next = next,
						  .unknown_code = unknown_code,
						  .arg = &given};
	struct sw_recorder_options options = sw_worker_record_options(worker);
	struct sw_profile_adding adding = {.mode = options.mode,
					   .interval_ns = NS_PER_S / options.rate_hz};
	struct sw_recorder *recorder = NULL;
	struct sw_worker_round round = {0};
	options.source = &source;
	int r = confine(p, err);
	if (r == 0)
		r = sw_worker_profile_open(worker, &adding.profile, err);
	if (r < 0)
		return r;
	const struct sw_recorder_sink sink = sw_profile_sink(&adding);
	sw_names_recall(worker->names_fd, worker->session);
	r = sw_recorder_create(NULL, &options, worker->session, &sink, &recorder, err);
	if (r == 0)
		r = samples_count(&given, recorder, &round, err);
	if (r < 0)
		return r;
	sw_recorder_settle(recorder);
	sw_names_keep(worker->names_fd,
		      worker->session); /* the next one begins after our profile */
	if (sw_recorder_report(recorder) == NULL)
		return sw_fail(err, SW_E_NO_THREAD, "no thread could be sampled");
	return sw_worker_profile_finish(worker, adding.profile, sw_recorder_report(recorder),
					&round, p->to_fd, err);
}

void sw_parser_run(struct sw_parser *p)
{
	struct sw_error err = {0};
	int r = parse(p, &err);
	if (r < 0) {
		const struct sw_worker_failed failed = sw_worker_failure(p->worker, -r, &err);
		/* When this fails the worker is gone. */
		(void) sw_worker_event_write(p->to_fd, SW_WORKER_FAILED, &failed, sizeof(failed),
					     NULL);
	}
	_exit(r < 0);
}

/* ---- the worker's ---------------------------------------------------------------------------- */

int sw_parser_is_gone(struct sw_error *err)
{
	return sw_fail(err, SW_E_INTERNAL, "the process that parses its samples died");
}

int sw_parser_failure(int from_fd, const struct sw_worker_event *event, struct sw_error *err)
{
	struct sw_worker_failed failed;
	if (event->type != SW_WORKER_FAILED || event->size != sizeof(failed) ||
	    !sw_read_all(from_fd, &failed, sizeof(failed)))
		return sw_parser_is_gone(err);
	failed.message[sizeof(failed.message) - 1] = '\0';
	/* The code of a parser is one of a capture: nobody has asked a parser for permissions. */
	return sw_fail(err, failed.code == SW_E_NOMEM ? SW_E_NOMEM : SW_E_INTERNAL, "%s",
		       failed.message);
}

static void pipe_close(const int ends[static 2])
{
	(void) close(ends[0]); /* of a pipe: nothing is lost */
	(void) close(ends[1]); /* likewise */
}

int sw_parser_fork(struct sw_parser_child *ret, struct sw_error *err)
{
	int to[2], from[2];
	if (pipe2(to, O_CLOEXEC) < 0)
		return sw_fail_errno(err, SW_E_LIMIT, "cannot make a pipe");
	if (pipe2(from, O_CLOEXEC) < 0) {
		pipe_close(to);
		return sw_fail_errno(err, SW_E_LIMIT, "cannot make a pipe");
	}
	pid_t self = getpid(), pid = fork();
	if (pid < 0) {
		pipe_close(to);
		pipe_close(from);
		return sw_fail_errno(err, SW_E_LIMIT, "cannot start a parser");
	}
	bool parser = pid == 0;
	(void) close(parser ? to[1] : to[0]);     /* the other side has it */
	(void) close(parser ? from[0] : from[1]); /* likewise */
	if (parser && (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != self))
		_exit(1);
	if (parser) {
		*ret = (struct sw_parser_child){.to_fd = from[1],
						.from_fd = to[0],
						.pidfd = -EBADF};
		return 0;
	}
	int pidfd = (int) syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0) {
		int r = sw_fail_errno(err, SW_E_LIMIT, "cannot hold on to a parser");
		(void) close(to[1]);   /* it ends when it reads */
		(void) close(from[0]); /* or writes */
		return r;
	}
	*ret = (struct sw_parser_child){.pid = pid,
					.to_fd = to[1],
					.from_fd = from[0],
					.pidfd = pidfd};
	return 0;
}

int sw_parser_pass(const struct sw_worker *worker, int from_fd, struct sw_error *err)
{
	struct sw_worker_event event;
	if (!sw_read_all(from_fd, &event, sizeof(event)))
		return sw_parser_is_gone(err);
	if (event.type != SW_WORKER_DUMP)
		return sw_parser_failure(from_fd, &event, err);
	if (event.size == 0 || event.size > worker->config->dump_bytes_max)
		return sw_parser_is_gone(err);
	sw_cleanup(sw_free_p) char *json = malloc(event.size);
	if (json == NULL)
		return sw_fail_nomem(err);
	if (!sw_read_all(from_fd, json, event.size))
		return sw_parser_is_gone(err);
	return sw_worker_event_write(worker->stream, SW_WORKER_DUMP, json, event.size, err);
}
