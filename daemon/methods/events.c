/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Events of one process, each with its stack: sent as they come. When the process has other code or other users a new
 * worker goes on, if the caller still may. */
#include "methods/table.h"
#include "methods/context.h"
#include "methods/target.h"
#include "jobs/run.h"
#include "jobs/series.h"
#include "rpc/params.h"
#include "cleanup.h"

#include <snapwalk/clock.h>
#include <snapwalk/event_text.h>
#include <snapwalk/probes.h>
#include <string.h>

enum {
	DURATION_MIN_MS = 100,
	DURATION_MAX_MS = 3600 * 1000,
	RUNS_MAX = 8, /* at once */
	RUNS_PER_USER_MAX = 2,
	RETRY_MS = 1000,
	NAME_MAX_BYTES = SW_WORKER_EVENT_NAME_MAX - 1,
};
static const int64_t ns_per_ms = 1000000, ns_per_s = 1000000000;

struct events {
	struct sw_series *series; /* owned */
	struct sw_call *call;     /* borrowed; owns us */
	struct sw_worker_events wish;
	struct sw_worker_ended all; /* of all workers together */
	uint64_t n_breaks;          /* workers that others have followed */
	bool begun;
	int64_t began_ns; /* CLOCK_MONOTONIC, of the last worker */
};

struct events_params {
	struct json_object *target, *event, *options;
	const char *reason;
	int64_t duration_ms, count;
};

static const struct sw_param events_table[] = {
	{"target", SW_PARAM_OBJECT, offsetof(struct events_params, target), .required = true},
	{"event", SW_PARAM_OBJECT, offsetof(struct events_params, event), .required = true},
	{"duration_ms", SW_PARAM_INT, offsetof(struct events_params, duration_ms), true,
	 .min = DURATION_MIN_MS, .max = DURATION_MAX_MS},
	{"count", SW_PARAM_INT, offsetof(struct events_params, count), .min = 1, .max = INT32_MAX},
	{"reason", SW_PARAM_STRING, offsetof(struct events_params, reason),
	 .max = SW_WORKER_REASON_MAX - 1},
	{"options", SW_PARAM_OBJECT, offsetof(struct events_params, options), .required = false},
};

/* ---- the event ------------------------------------------------------------------------------- */

static const char *const kinds[] = {"syscall", "death", "thread", "process",
				    "blocked", "func",  "usdt",   NULL};
static const enum sw_event_what whats[] = {SW_EVENT_CALL,        SW_EVENT_DEATH,
					   SW_EVENT_NEW_THREADS, SW_EVENT_NEW_PROCESSES,
					   SW_EVENT_BLOCKED,     SW_EVENT_FUNCTION,
					   SW_EVENT_FUNCTION};
enum { KIND_USDT = 6 }; /* of both */

struct event_params {
	int kind;
	const char *call, *error, *symbol;
	struct json_object *arguments;
	int64_t fd, slower_ms;
	bool failed, at_return;
};

static const struct sw_param event_table[] = {
	{"kind", SW_PARAM_CHOICE, offsetof(struct event_params, kind), true, .choices = kinds},
	{"call", SW_PARAM_STRING, offsetof(struct event_params, call), .max = NAME_MAX_BYTES},
	{"errno", SW_PARAM_STRING, offsetof(struct event_params, error), .max = NAME_MAX_BYTES},
	{"symbol", SW_PARAM_STRING, offsetof(struct event_params, symbol),
	 .max = SW_WORKER_FUNCTION_MAX - 1},
	{"return", SW_PARAM_BOOL, offsetof(struct event_params, at_return), .max = 1},
	{"failed", SW_PARAM_BOOL, offsetof(struct event_params, failed), .max = 1},
	{"fd", SW_PARAM_INT, offsetof(struct event_params, fd), .min = 0, .max = INT32_MAX},
	{"arguments", SW_PARAM_OBJECT, offsetof(struct event_params, arguments), .required = false},
	{"slower_ms", SW_PARAM_INT, offsetof(struct event_params, slower_ms), .min = 1,
	 .max = DURATION_MAX_MS},
};

static bool test_add(struct sw_event_options *o, unsigned argument, int64_t value, bool is_int)
{
	if (o->n_tests == SW_EVENT_TESTS_MAX)
		return false;
	o->tests[o->n_tests++] = (struct sw_event_test){.argument = argument,
							.value = (uint64_t) value,
							.is_int = is_int};
	return true;
}

/* {"1": 16}: the second argument is 16. */
static bool tests_read(struct json_object *arguments, struct sw_event_options *o)
{
	json_object_object_foreach(arguments, name, value)
	{
		if (name[0] < '0' || name[0] >= '0' + SW_EVENT_ARGUMENTS || name[1] != '\0' ||
		    !json_object_is_type(value, json_type_int) ||
		    !test_add(o, (unsigned) (name[0] - '0'), json_object_get_int64(value), false))
			return false;
	}
	return true;
}

static bool call_read(const struct event_params *p, struct sw_event_options *o, const char **bad)
{
	*bad = "call";
	if (p->call == NULL || !sw_event_set_call(o, p->call))
		return false;
	*bad = "errno";
	o->failed = p->failed || p->error != NULL;
	o->error = p->error != NULL ? sw_errno_number(p->error) : 0;
	if ((p->error != NULL && o->error == 0) || (o->failed && o->at_begin))
		return false;
	*bad = "fd";
	if (p->fd >= 0 && !test_add(o, 0, p->fd, true))
		return false;
	*bad = "arguments";
	return p->arguments == NULL || tests_read(p->arguments, o);
}

static bool function_read(const struct event_params *p, struct sw_worker_events *ret,
			  const char **bad)
{
	size_t length;
	const char *name;
	ret->is_declared = p->kind == KIND_USDT;
	*bad = "symbol";
	if (p->symbol == NULL || !sw_probe_split(p->symbol, &length, &name))
		return false;
	(void) snprintf(ret->function, sizeof(ret->function), "%s", p->symbol); /* fits */
	*bad = p->at_return ? "return" : "slower_ms"; /* a probe is one instruction */
	ret->options.at_return = p->at_return || p->slower_ms > 0;
	return !(ret->options.at_return && ret->is_declared);
}

/* A member that belongs to another kind of event is refused: the caller would get more than was asked for. */
static bool event_read(struct json_object *event, struct sw_worker_events *ret, const char **bad)
{
	struct event_params p = {.fd = -1};
	struct sw_event_options *o = &ret->options;
	if (!sw_params_read(event, event_table, SW_ARRAY_SIZE(event_table), &p, bad))
		return false;
	*o = (struct sw_event_options){.what = whats[p.kind], .call = -1, .call_32 = -1};
	(void) snprintf(ret->name, sizeof(ret->name), "%s",
			p.call != NULL ? p.call : kinds[p.kind]); /* fits */
	*bad = "slower_ms";
	if ((p.slower_ms > 0) != (o->what == SW_EVENT_BLOCKED) && o->what != SW_EVENT_FUNCTION)
		return false;
	o->slower_ns = p.slower_ms * ns_per_ms;
	if (o->what == SW_EVENT_CALL) {
		*bad = p.symbol != NULL ? "symbol" : "return";
		return p.symbol == NULL && !p.at_return && call_read(&p, o, bad);
	}
	*bad = p.call != NULL        ? "call"
	       : p.error != NULL     ? "errno"
	       : p.failed            ? "failed"
	       : p.fd >= 0           ? "fd"
	       : p.arguments != NULL ? "arguments"
				     : NULL;
	if (*bad != NULL)
		return false;
	if (o->what == SW_EVENT_FUNCTION)
		return function_read(&p, ret, bad);
	*bad = p.symbol != NULL ? "symbol" : p.at_return ? "return" : NULL;
	return *bad == NULL;
}

/* ---- the replies ----------------------------------------------------------------------------- */

static void cancel(struct sw_call *call)
{
	struct events *events = call->state;
	sw_series_destroy(events->series);
	free(events);
}

/* The call's output has space again. */
static bool pump(struct sw_call *call)
{
	struct events *events = call->state;
	if (events->series->waiter.job != NULL)
		sw_job_go_on(events->series->waiter.job);
	return false;
}

static bool on_events(struct sw_series *series, const char *data, size_t size)
{
	struct events *events = series->owner;
	struct sw_text text = {0};
	sw_text_append(&text, data, size);
	sw_call_reply_text(events->call, &text, true);
	return sw_call_has_space(events->call);
}

static void on_state(struct sw_series *series, const char *state)
{
	struct events *events = series->owner;
	if (strcmp(state, "resumed") != 0)
		return;
	events->began_ns = sw_clock_ns();
	if (!events->begun)
		sw_call_reply(events->call, sw_object_string("state", "begun"), true);
	events->begun = true;
}

static void answer(struct events *events, const char *ended, const char *error)
{
	const struct sw_worker_ended *all = &events->all;
	struct json_object *reply = sw_object_string("ended", ended);
	const struct {
		const char *name;
		uint64_t n;
	} counts[] = {{"n_events", all->n},
		      {"n_lost", all->n_lost},
		      {"n_without_stack", all->n_no_stack},
		      {"n_breaks", events->n_breaks}};
	for (size_t i = 0; i < SW_ARRAY_SIZE(counts); i++)
		reply = sw_object_add(reply, counts[i].name,
				      json_object_new_int64((int64_t) counts[i].n));
	if (error != NULL)
		reply = sw_object_add(reply, "error", json_object_new_string(error));
	sw_call_reply(events->call, reply, false);
}

/* A worker says it: sums of such values must not overflow. */
static uint64_t sum(uint64_t a, uint64_t b)
{
	static const uint64_t most = UINT64_C(1) << 52;
	const uint64_t all = a + (b < most ? b : most);
	return all < most ? all : most;
}

static enum sw_deny_rule authorize(const struct sw_config *config, const struct sw_caller *caller,
				   const struct sw_worker_events *wish)
{
	return wish->options.what == SW_EVENT_FUNCTION ? sw_authorize_functions(config, caller)
						       : sw_authorize_events(config, caller);
}

static bool go_on(struct events *events)
{
	const struct sw_series *series = events->series;
	const int64_t now_ns = sw_clock_ns();
	if (now_ns >= events->wish.end_ns ||
	    authorize(series->jobs->config, &series->caller, &events->wish) != SW_DENY_NONE)
		return false;
	/* A process that maps code all the time is not looked at all the time. */
	events->series->next_ns = now_ns - events->began_ns < ns_per_s ? now_ns + ns_per_s : now_ns;
	events->n_breaks++;
	return sw_series_next(events->series);
}

static void on_done(struct sw_series *series, const struct sw_outcome *outcome)
{
	static const char *const words[] = {
		[SW_WORKER_END_TIME] = "time",
		[SW_WORKER_END_COUNT] = "count",
		[SW_WORKER_END_EXITED] = "exited",
		[SW_WORKER_END_CHANGED] = "time", /* it was up when nobody could go on */
		[SW_WORKER_END_OVERHEAD] = "overhead",
	};
	struct events *events = series->owner;
	const struct sw_worker_ended *ended = outcome->ended;
	if (ended == NULL && !events->begun) {
		sw_call_refuse(events->call, outcome->refusal);
		return;
	}
	if (ended == NULL) {
		answer(events, "refused", outcome->refusal->message);
		return;
	}
	events->all.n = sum(events->all.n, ended->n);
	events->all.n_lost = sum(events->all.n_lost, ended->n_lost);
	events->all.n_no_stack = sum(events->all.n_no_stack, ended->n_no_stack);
	if (events->wish.count > 0)
		events->wish.count -= ended->n < events->wish.count ? ended->n : 0;
	/* Before its time: a reload has ended it. */
	const bool early = ended->end == SW_WORKER_END_TIME && sw_clock_ns() < events->wish.end_ns;
	if ((ended->end != SW_WORKER_END_CHANGED && !early) || !go_on(events))
		answer(events, words[ended->end], NULL);
}

/* ---- the call -------------------------------------------------------------------------------- */

static bool is_permitted(const struct sw_jobs *jobs, const struct sw_taken *taken,
			 const struct sw_worker_events *wish, struct sw_refusal *refusal)
{
	enum sw_deny_rule rule = authorize(jobs->config, &taken->caller, wish);
	return rule == SW_DENY_NONE || sw_refuse_denied(refusal, taken->found.pid, rule);
}

/* Processes that rules watch, which are limited by themselves, are no calls. */
static bool is_call(const struct sw_series *series)
{
	return series->events != NULL && !series->events->kept;
}

static bool has_space(const struct sw_jobs *jobs, const struct sw_caller *caller,
		      struct sw_refusal *refusal)
{
	const struct sw_series *series;
	size_t all = 0, users = 0;
	TAILQ_FOREACH(series, &jobs->series, link)
	{
		all += is_call(series);
		users += is_call(series) && series->caller.uid == caller->uid;
	}
	if (all < RUNS_MAX && (users < RUNS_PER_USER_MAX || caller->uid == 0))
		return true;
	jobs->counters->busy_queue_total++;
	return sw_refuse(refusal, SW_INTERFACE ".Busy", sw_object_busy(RETRY_MS, "queue"),
			 "busy (queue): too many calls of Events are under way");
}

static bool start(struct sw_call *call, struct sw_submission *submission,
		  const struct sw_worker_events *wish)
{
	const struct sw_methods *methods = call->context;
	struct events *events = calloc(1, sizeof(*events));
	if (events == NULL)
		return false;
	events->call = call;
	events->wish = *wish;
	submission->events = &events->wish;
	events->series = sw_series_create(methods->jobs, submission, UINT64_MAX, 0);
	if (events->series == NULL) {
		free(events);
		return false;
	}
	events->series->owner = events;
	events->series->done = on_done;
	events->series->state = on_state;
	events->series->told = on_events;
	call->state = events;
	call->cancel = cancel;
	call->pump = pump;
	return sw_series_next(events->series);
}

void sw_method_events(struct sw_call *call)
{
	const struct sw_methods *methods = call->context;
	struct sw_jobs *jobs = methods->jobs;
	struct events_params p = {0};
	struct sw_taken taken = {.found = {.pidfd = -EBADF}};
	struct sw_refusal refusal = {0};
	struct sw_worker_events wish = {.wanted = true};
	struct sw_submission submission = {.sampled = true};
	bool store = false; /* nothing of events is kept */
	const char *bad = NULL;
	if (!sw_params_read(call->message.parameters, events_table, SW_ARRAY_SIZE(events_table), &p,
			    &bad) ||
	    !event_read(p.event, &wish, &bad) ||
	    !sw_options_read(jobs->config, p.options, &submission.options, &store, &bad)) {
		sw_call_invalid(call, bad);
		return;
	}
	wish.count = (uint64_t) p.count;
	wish.end_ns = sw_clock_ns() + p.duration_ms * ns_per_ms;
	submission.reason = p.reason;
	if (sw_target_take(call, p.target, &taken, &refusal)) {
		sw_taken_submit(&taken, jobs->config, &submission);
		if (!sw_taken_is_own(&taken, &refusal) ||
		    !is_permitted(jobs, &taken, &wish, &refusal) ||
		    !has_space(jobs, &taken.caller, &refusal) ||
		    !sw_series_pay(jobs, &taken.caller, &refusal))
			sw_call_refuse(call, &refusal);
		else if (!start(call, &submission, &wish))
			sw_call_failed(call, "not enough memory");
	}
	sw_taken_deinit(&taken);
	sw_refusal_deinit(&refusal);
}
