/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Captures at an interval, each streamed before the next one is made: a client that reads slowly is
 * sampled slowly. */
#include "methods/table.h"
#include "methods/context.h"
#include "methods/stream.h"
#include "methods/target.h"
#include "jobs/series.h"
#include "rpc/params.h"
#include "cleanup.h"

#include <snapwalk/clock.h>
#include <string.h>

enum { INTERVAL_MIN_MS = 10, INTERVAL_MAX_MS = 3600 * 1000 };

struct sample {
	struct sw_series *series; /* owned */
	struct sw_call *call;     /* borrowed; owns us */
	struct sw_dump_stream stream;
};

struct sample_params {
	struct json_object *target, *options;
	int64_t interval_ms, count;
};

static const struct sw_param sample_table[] = {
	{"target", SW_PARAM_OBJECT, offsetof(struct sample_params, target), .required = true},
	{"interval_ms", SW_PARAM_INT, offsetof(struct sample_params, interval_ms), true,
	 .min = INTERVAL_MIN_MS, .max = INTERVAL_MAX_MS},
	{"count", SW_PARAM_INT, offsetof(struct sample_params, count), .min = 1, .max = UINT32_MAX},
	{"options", SW_PARAM_OBJECT, offsetof(struct sample_params, options), .required = false},
};

static struct sw_jobs *jobs_of(const struct sw_call *call)
{
	const struct sw_methods *methods = call->context;
	return methods->jobs;
}

static void cancel(struct sw_call *call)
{
	struct sample *sample = call->state;
	sw_series_destroy(sample->series);
	sw_dump_stream_deinit(&sample->stream);
	free(sample);
}

static bool is_last(const struct sample *sample)
{
	return sample->series->left == 0;
}

/* A failure means that the timer cannot be set: there is nothing more to wait for. */
static void go_on(struct sample *sample)
{
	if (!sw_series_next(sample->series))
		sw_call_failed(sample->call, "no timer");
}

static bool pump(struct sw_call *call)
{
	struct sample *sample = call->state;
	if (sample->stream.dump == NULL)
		return false;
	bool last = is_last(sample);
	enum sw_streamed streamed = sw_dump_stream_next(&sample->stream, call, last);
	if (streamed == SW_STREAMED_ALL && !last)
		go_on(sample);
	return streamed == SW_STREAMED_PART;
}

static void on_state(struct sw_series *series, const char *state)
{
	sw_call_reply(((struct sample *) series->owner)->call, sw_object_string("state", state),
		      true);
}

static void on_done(struct sw_series *series, const struct sw_outcome *outcome)
{
	struct sample *sample = series->owner;
	struct sw_call *call = sample->call;
	if (outcome->dump != NULL) {
		sw_call_reply(call, sw_object_string("state", "done"), true);
		sw_dump_stream_begin(&sample->stream, call, outcome->dump,
				     outcome->coalesced ? SW_COALESCED_YES : SW_COALESCED_NO);
		return;
	}
	if (sw_refusal_is_final(outcome->refusal)) {
		sw_call_refuse(call, outcome->refusal);
		return;
	}
	bool last = is_last(sample);
	sw_call_reply(call,
		      sw_object_add(json_object_new_object(), "error",
				    json_object_new_string(outcome->refusal->message)),
		      !last);
	if (!last)
		go_on(sample);
}

static bool start(struct sw_call *call, const struct sw_submission *submission,
		  const struct sample_params *p)
{
	struct sample *sample = calloc(1, sizeof(*sample));
	uint64_t count = p->count > 0 ? (uint64_t) p->count : UINT64_MAX;
	if (sample == NULL)
		return false;
	sample->series = sw_series_create(jobs_of(call), submission, count, p->interval_ms);
	if (sample->series == NULL) {
		free(sample);
		return false;
	}
	sample->call = call;
	sample->series->owner = sample;
	sample->series->done = on_done;
	sample->series->state = on_state;
	call->state = sample;
	call->cancel = cancel;
	call->pump = pump;
	go_on(sample);
	return true;
}

void sw_method_sample(struct sw_call *call)
{
	struct sw_jobs *jobs = jobs_of(call);
	struct sample_params p = {0};
	struct sw_taken taken = {.found = {.pidfd = -EBADF}};
	struct sw_refusal refusal = {0};
	/* Hundreds of dumps would push all others out: none is kept, whatever is asked for. */
	bool store = false;
	struct sw_submission submission = {.sampled = true};
	const char *bad = NULL;
	if (!sw_params_read(call->message.parameters, sample_table, SW_ARRAY_SIZE(sample_table), &p,
			    &bad) ||
	    !sw_options_read(jobs->config, p.options, &submission.options, &store, &bad)) {
		sw_call_invalid(call, bad);
		return;
	}
	if (sw_target_take(call, p.target, &taken, &refusal)) {
		sw_taken_submit(&taken, jobs->config, &submission);
		if (!sw_taken_is_own(&taken, &refusal) ||
		    !sw_series_pay(jobs, &taken.caller, &refusal))
			sw_call_refuse(call, &refusal);
		else if (!start(call, &submission, &p))
			sw_call_failed(call, "not enough memory");
	}
	sw_taken_deinit(&taken);
	sw_refusal_deinit(&refusal);
}
