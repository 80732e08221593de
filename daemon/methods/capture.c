/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "methods/table.h"
#include "methods/context.h"
#include "methods/stream.h"
#include "methods/target.h"
#include "jobs/job.h"
#include "rpc/params.h"
#include "cleanup.h"

struct capture {
	struct sw_waiter waiter;
	struct sw_call *call; /* borrowed; owns us */
	struct sw_dump_stream stream;
};

struct capture_params {
	struct json_object *target, *options;
	const char *reason;
};

static const struct sw_param capture_table[] = {
	{"target", SW_PARAM_OBJECT, offsetof(struct capture_params, target), .required = true},
	{"reason", SW_PARAM_STRING, offsetof(struct capture_params, reason),
	 .max = SW_WORKER_REASON_MAX - 1},
	{"options", SW_PARAM_OBJECT, offsetof(struct capture_params, options), .required = false},
};

static struct capture *capture_of(struct sw_waiter *waiter)
{
	return (struct capture *) ((char *) waiter - offsetof(struct capture, waiter));
}

static void cancel(struct sw_call *call)
{
	struct capture *capture = call->state;
	sw_waiter_cancel(&capture->waiter);
	sw_dump_stream_deinit(&capture->stream);
	free(capture);
}

static bool pump(struct sw_call *call)
{
	struct capture *capture = call->state;
	return capture->stream.dump != NULL &&
	       sw_dump_stream_next(&capture->stream, call, true) == SW_STREAMED_PART;
}

static void say_state(struct sw_call *call, const char *state)
{
	if (call->message.more)
		sw_call_reply(call, sw_object_string("state", state), true);
}

static void on_state(struct sw_waiter *waiter, const char *state)
{
	say_state(capture_of(waiter)->call, state);
}

static void answer(struct capture *capture, struct sw_dump *dump, bool coalesced)
{
	struct sw_call *call = capture->call;
	enum sw_coalesced said = coalesced ? SW_COALESCED_YES : SW_COALESCED_NO;
	if (!call->message.more) {
		sw_dump_send_whole(dump, call, said);
		return;
	}
	say_state(call, "done");
	sw_dump_stream_begin(&capture->stream, call, dump, said);
}

static void on_done(struct sw_waiter *waiter, const struct sw_outcome *outcome)
{
	struct capture *capture = capture_of(waiter);
	if (outcome->dump != NULL)
		answer(capture, outcome->dump, outcome->coalesced);
	else
		sw_call_refuse(capture->call, outcome->refusal);
}

static void submit(struct sw_call *call, const struct sw_submission *submission,
		   struct sw_refusal *refusal)
{
	struct capture *capture = call->state;
	const struct sw_methods *methods = call->context;
	struct sw_dump *dump = NULL;
	switch (sw_job_submit(methods->jobs, submission, &capture->waiter, &dump, refusal)) {
	case SW_SUBMITTED_REFUSED: sw_call_refuse(call, refusal); break;
	case SW_SUBMITTED_DUMP:
		answer(capture, dump, true);
		sw_dump_unref(dump);
		break;
	case SW_SUBMITTED_WAIT:
		if (call->message.oneway) {
			/* Nobody waits: it is made even when the peer hangs up. */
			sw_waiter_detach(&capture->waiter);
			sw_call_reply(call, NULL, false);
		} else if (capture->waiter.job->state == SW_JOB_QUEUED)
			say_state(call, "queued");
		break;
	}
}

static bool prepare(struct sw_call *call)
{
	struct capture *capture = calloc(1, sizeof(*capture));
	if (capture == NULL) {
		sw_call_failed(call, "not enough memory");
		return false;
	}
	*capture = (struct capture){.waiter = {.state = on_state, .done = on_done}, .call = call};
	call->state = capture;
	call->cancel = cancel;
	call->pump = pump;
	return true;
}

void sw_method_capture(struct sw_call *call)
{
	const struct sw_methods *methods = call->context;
	struct sw_jobs *jobs = methods->jobs;
	struct capture_params p = {0};
	struct sw_taken taken = {.found = {.pidfd = -EBADF}};
	struct sw_refusal refusal = {0};
	struct sw_submission submission = {.seq = 1, .store = true};
	const char *bad = NULL;
	if (!sw_params_read(call->message.parameters, capture_table, SW_ARRAY_SIZE(capture_table),
			    &p, &bad) ||
	    !sw_options_read(jobs->config, p.options, &submission.options, &submission.store,
			     &bad)) {
		sw_call_invalid(call, bad);
		return;
	}
	submission.reason = p.reason;
	if (sw_target_take(call, p.target, &taken, &refusal) && prepare(call)) {
		sw_taken_submit(&taken, jobs->config, &submission);
		submit(call, &submission, &refusal);
	}
	sw_taken_deinit(&taken);
	sw_refusal_deinit(&refusal);
}
