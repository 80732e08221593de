/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Samples for some seconds, added up; the reply comes with the whole. */
#include "methods/table.h"
#include "methods/context.h"
#include "methods/stream.h"
#include "methods/target.h"
#include "jobs/profile.h"
#include "rpc/params.h"
#include "cleanup.h"

enum { DURATION_MIN_MS = 100, DURATION_MAX_MS = 3600 * 1000, RATE_MAX_HZ = 100 };

struct profile {
	struct sw_profiling *profiling; /* owned */
	struct sw_call *call;           /* borrowed; owns us */
	struct sw_dump_stream stream;
};

struct profile_params {
	struct json_object *target, *options;
	const char *reason;
	int64_t duration_ms, rate_hz;
	int mode;
	bool until_eof;
};

static const struct sw_param profile_table[] = {
	{"target", SW_PARAM_OBJECT, offsetof(struct profile_params, target), .required = true},
	{"duration_ms", SW_PARAM_INT, offsetof(struct profile_params, duration_ms), true,
	 .min = DURATION_MIN_MS, .max = DURATION_MAX_MS},
	{"rate_hz", SW_PARAM_INT, offsetof(struct profile_params, rate_hz), .min = 1,
	 .max = RATE_MAX_HZ},
	{"mode", SW_PARAM_CHOICE, offsetof(struct profile_params, mode),
	 .choices = sw_config_profile_modes},
	{"reason", SW_PARAM_STRING, offsetof(struct profile_params, reason),
	 .max = SW_WORKER_REASON_MAX - 1},
	{"until_eof", SW_PARAM_BOOL, offsetof(struct profile_params, until_eof), .max = 1},
	{"options", SW_PARAM_OBJECT, offsetof(struct profile_params, options), .required = false},
};

static void cancel(struct sw_call *call)
{
	struct profile *profile = call->state;
	sw_profiling_destroy(profile->profiling);
	sw_dump_stream_deinit(&profile->stream);
	free(profile);
}

static bool pump(struct sw_call *call)
{
	struct profile *profile = call->state;
	return profile->stream.dump != NULL &&
	       sw_dump_stream_next(&profile->stream, call, true) == SW_STREAMED_PART;
}

static void ended(struct sw_call *call)
{
	sw_profiling_end(((struct profile *) call->state)->profiling);
}

static void on_done(struct sw_profiling *profiling, const struct sw_outcome *outcome)
{
	struct profile *profile = profiling->arg;
	struct sw_call *call = profile->call;
	call->ended = NULL; /* there is nothing left to be ended */
	if (outcome->dump == NULL) {
		sw_call_refuse(call, outcome->refusal);
	} else if (call->message.more) {
		sw_dump_stream_begin(&profile->stream, call, outcome->dump, SW_COALESCED_NO);
	} else {
		sw_dump_send_whole(outcome->dump, call, SW_COALESCED_NO);
	}
}

/* Nobody waits for it. */
static void on_done_alone(struct sw_profiling *profiling, const struct sw_outcome *outcome)
{
	(void) outcome;
	sw_profiling_destroy(profiling);
}

static bool answer_later(struct sw_call *call, struct sw_profiling *profiling, bool until_eof)
{
	struct profile *profile = calloc(1, sizeof(*profile));
	if (profile == NULL)
		return false;
	*profile = (struct profile){.profiling = profiling, .call = call};
	profiling->arg = profile;
	profiling->done = on_done;
	call->state = profile;
	call->cancel = cancel;
	call->pump = pump;
	call->ended = until_eof ? ended : NULL;
	return true;
}

static void start(struct sw_call *call, const struct sw_submission *submission,
		  const struct profile_params *p, struct sw_refusal *refusal)
{
	const struct sw_methods *methods = call->context;
	const struct sw_profile_wish wish = {
		.mode = (uint32_t) p->mode,
		.rate_hz = p->rate_hz > 0 ? (uint32_t) p->rate_hz : SW_PROFILE_RATE_HZ,
		.duration_ms = p->duration_ms,
	};
	struct sw_profiling *profiling =
		sw_profiling_create(methods->jobs, submission, &wish, refusal);
	if (profiling == NULL) {
		sw_call_refuse(call, refusal);
		return;
	}
	profiling->done = on_done_alone;
	if ((!call->message.oneway && !answer_later(call, profiling, p->until_eof)) ||
	    !sw_profiling_start(profiling)) {
		if (call->state == NULL)
			sw_profiling_destroy(profiling);
		sw_call_failed(call, "not enough memory");
	} else if (call->message.oneway) {
		sw_call_reply(call, NULL, false);
	}
}

void sw_method_profile(struct sw_call *call)
{
	const struct sw_methods *methods = call->context;
	struct sw_jobs *jobs = methods->jobs;
	struct profile_params p = {0};
	struct sw_taken taken = {.found = {.pidfd = -EBADF}};
	struct sw_refusal refusal = {0};
	struct sw_submission submission = {.store = true};
	const char *bad = NULL;
	if (!sw_params_read(call->message.parameters, profile_table, SW_ARRAY_SIZE(profile_table),
			    &p, &bad) ||
	    !sw_options_read(jobs->config, p.options, &submission.options, &submission.store,
			     &bad)) {
		sw_call_invalid(call, bad);
		return;
	}
	submission.reason = p.reason;
	if (sw_target_take(call, p.target, &taken, &refusal)) {
		sw_taken_submit(&taken, jobs->config, &submission);
		if (taken.pull != NULL && p.duration_ms > taken.pull->max_ms)
			sw_call_invalid(call, "duration_ms");
		else if (sw_series_pay(jobs, &taken.caller, &refusal))
			start(call, &submission, &p, &refusal);
		else
			sw_call_refuse(call, &refusal);
	}
	sw_taken_deinit(&taken);
	sw_refusal_deinit(&refusal);
}
