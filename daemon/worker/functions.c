/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "worker/functions.h"
#include "worker/parser.h"
#include "worker/wire.h"
#include "sandbox/roles.h"
#include "bytes.h"
#include "child.h"
#include "cleanup.h"
#include "errors.h"

#include <snapwalk/pipeline.h>
#include <snapwalk/probes.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum {
	ANSWER_MAX = 1 << 20, /* bytes: at most SW_EVENT_PLACES_MAX lines */
	NS_PER_MS = 1000000,
};

/* ---- the child -------------------------------------------------------------------------------- */

static int look_up(struct sw_worker *worker, const struct sw_snapshot *snap, char **ret_text,
		   size_t *ret_size, struct sw_probe_why *why, struct sw_error *err)
{
	const struct sw_worker_request *request = &worker->request;
	const struct sw_worker_events *asked = &request->events;
	char module[SW_WORKER_FUNCTION_MAX];
	struct sw_symbolizer *symbolizer = NULL;
	size_t length = 0;
	struct sw_function_wanted wanted = {.is_declared = asked->is_declared,
					    .at_return = asked->options.at_return,
					    .prefix = asked->is_declared ? "usdt:" : "func:"};
	if (!sw_probe_split(asked->function, &length, &wanted.name))
		return sw_fail(err, SW_E_INVALID, "no function is named");
	(void) snprintf(module, sizeof(module), "%.*s", (int) length, asked->function); /* fits */
	wanted.module = length > 0 ? module : NULL;
	int r = sw_session_symbolizer(worker->session, &symbolizer, err);
	if (r < 0)
		return r;
	const struct sw_probe_look_up look = {
		.snap = snap,
		.symbolizer = symbolizer,
		/* Three quarters of the time for all: at its end we are killed. */
		.symbolize = {.unpacked = &worker->unpacked,
			      .deadline_ns =
				      worker->begin_ns +
				      (int64_t) worker->config->timeout_ms * NS_PER_MS / 4 * 3},
		.wanted = &wanted,
		.n_wanted = 1};
	return sw_probes_look_up(&look, ret_text, ret_size, why, err);
}

__attribute__((noreturn)) static void child(struct sw_worker *worker,
					    const struct sw_snapshot *snap, int to_fd)
{
	const struct sw_worker_request *request = &worker->request;
	struct sw_probe_why why = {0};
	struct sw_error err = {0};
	char *text = NULL;
	size_t size = 0;
	(void) prctl(PR_SET_NAME, "snapwalk-parser"); /* cannot fail */
	sw_parser_leave(worker);
	int r = sw_sandbox_worker(request->memory_mib,
				  request->names_timeout_ms + worker->config->timeout_ms,
				  &worker->unpacked, &err);
	if (r == 0)
		r = look_up(worker, snap, &text, &size, &why, &err);
	if (r < 0) {
		struct sw_worker_failed failed = {.code = -r};
		const struct sw_error said = err;
		if (why.remedy[0] != '\0') /* cut is fine */
			(void) sw_fail(&err, said.code, "%s: %s", said.message, why.remedy);
		static_assert(sizeof(failed.message) == sizeof(err.message), "it fits");
		memcpy(failed.message, err.message, sizeof(failed.message));
		/* When this fails the worker is gone, as below. */
		(void) sw_worker_event_write(to_fd, SW_WORKER_FAILED, &failed, sizeof(failed),
					     NULL);
	} else {
		(void) sw_worker_event_write(to_fd, SW_PARSER_PLACES, text, size, NULL);
	}
	_exit(r < 0);
}

/* ---- the worker ------------------------------------------------------------------------------- */

static int is_gone(struct sw_error *err)
{
	return sw_fail(err, SW_E_INTERNAL, "the process that looks its functions up died");
}

static int failure_read(int fd, size_t size, struct sw_error *err)
{
	struct sw_worker_failed failed;
	if (size != sizeof(failed) || !sw_read_all(fd, &failed, sizeof(failed)))
		return is_gone(err);
	failed.message[sizeof(failed.message) - 1] = '\0';
	/* The code of a child is one of a look-up: nobody has asked it for permissions. */
	return sw_fail(err, failed.code == SW_E_NOMEM ? SW_E_NOMEM : SW_E_UNSUPPORTED, "%s",
		       failed.message);
}

/* *ret: terminated; the caller's, free(). */
static int answer_read(int fd, char **ret, struct sw_error *err)
{
	struct sw_worker_event event;
	if (!sw_read_all(fd, &event, sizeof(event)))
		return is_gone(err);
	if (event.type == SW_WORKER_FAILED)
		return failure_read(fd, event.size, err);
	if (event.type != SW_PARSER_PLACES || event.size > ANSWER_MAX)
		return is_gone(err);
	sw_cleanup(sw_free_p) char *text = malloc(event.size + 1);
	if (text == NULL)
		return sw_fail_nomem(err);
	if (!sw_read_all(fd, text, event.size))
		return is_gone(err);
	text[event.size] = '\0';
	*ret = sw_take_ptr(text);
	return 0;
}

int sw_worker_functions_find(struct sw_worker *worker, const struct sw_target *target,
			     struct sw_function *ret, struct sw_error *err)
{
	struct sw_snapshot *snap = NULL;
	struct sw_parser_child parser = {0};
	sw_cleanup(sw_free_p) char *text = NULL;
	worker->request.events.function[SW_WORKER_FUNCTION_MAX - 1] = '\0';
	int r = sw_snapshot_maps(sw_session_context(worker->session), target, &snap, err);
	if (r == 0)
		r = sw_parser_fork(&parser, err);
	if (r == 0 && parser.pid == 0)
		child(worker, snap, parser.to_fd);
	if (r == 0) {
		r = answer_read(parser.from_fd, &text, err);
		sw_child_kill(parser.pidfd); /* it has nothing more to do */
		(void) waitpid(parser.pid, NULL, 0);
		sw_close_p(&parser.pidfd);
		sw_close_p(&parser.from_fd);
		sw_close_p(&parser.to_fd);
	}
	if (r == 0)
		r = sw_function_take(target, snap, text, ret, err);
	if (r == 0 && ret->n == 0)
		r = is_gone(err);
	sw_snapshot_destroy(snap);
	return r;
}
