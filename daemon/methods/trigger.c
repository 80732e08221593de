/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An alert: each rule that matches names processes, and each of those is captured as often as the
 * rule says, or profiled. The reply comes with the first dump of each, or the first sample; the
 * others follow by themselves, also when the caller has gone.
 */
#include "methods/table.h"
#include "methods/context.h"
#include "methods/target.h"
#include "rules/match.h"
#include "rpc/params.h"
#include "jobs/profile.h"
#include "config/journal.h"
#include "cleanup.h"

#include <snapwalk/clock.h>
#include <limits.h>
#include <string.h>

enum { LABELS_MAX = 128, LABEL_BYTES_MAX = 4096, TARGETS_MAX = 64 };

struct trigger {
	struct sw_call *call; /* borrowed; NULL: the caller has gone */
	struct sw_methods *methods;
	size_t pending;                    /* first captures still to come */
	struct json_object *ids, *skipped; /* owned */
	int64_t busy_ms;                   /* something was Busy; again in so many ms */
	const char *busy_why;              /* static */
	char *key;                         /* owned; of the alert; NULL: it has none */
	const char *source;                /* borrowed, while rules are matched */
	size_t source_size;
	int64_t begin_ns; /* last_ns of rules that fired for it */
};

struct trigger_params {
	const char *source, *fingerprint, *starts_at;
	struct json_object *labels;
	int status;
};

static const char *const statuses[] = {"firing", "resolved", NULL};

static const struct sw_param trigger_table[] = {
	{"source", SW_PARAM_STRING, offsetof(struct trigger_params, source), true, .max = 64},
	{"status", SW_PARAM_CHOICE, offsetof(struct trigger_params, status), .choices = statuses},
	{"fingerprint", SW_PARAM_STRING, offsetof(struct trigger_params, fingerprint), .max = 256},
	{"starts_at", SW_PARAM_STRING, offsetof(struct trigger_params, starts_at), .max = 64},
	{"labels", SW_PARAM_OBJECT, offsetof(struct trigger_params, labels), .required = true},
};

static bool labels_are_good(struct json_object *labels)
{
	if (json_object_object_length(labels) > LABELS_MAX)
		return false;
	json_object_object_foreach(labels, name,
				   value) if (!json_object_is_type(value, json_type_string) ||
					      strlen(name) > LABEL_BYTES_MAX ||
					      json_object_get_string_len(value) >
						      LABEL_BYTES_MAX) return false;
	return true;
}

static const char *label_find(void *arg, const char *name)
{
	struct json_object *value = NULL;
	if (!json_object_object_get_ex(arg, name, &value))
		return NULL;
	return json_object_get_string(value);
}

static void trigger_free(struct trigger *t)
{
	(void) json_object_put(t->ids); /* NULL is fine */
	(void) json_object_put(t->skipped);
	free(t->key);
	free(t);
}

static void skip(struct trigger *t, const char *rule, const char *reason)
{
	struct json_object *entry = sw_object_string("rule", rule);
	sw_object_add(entry, "reason", json_object_new_string(reason));
	if (t->skipped == NULL || json_object_array_add(t->skipped, entry) < 0)
		(void) json_object_put(entry); /* one line less; NULL is fine */
}

/* Captures were tried and the daemon was too busy for all of them: the alert may be sent again. */
static void answer(struct trigger *t)
{
	struct sw_call *call = t->call;
	if (json_object_array_length(t->ids) == 0 && t->busy_ms > 0)
		sw_call_error(call, SW_INTERFACE ".Busy", sw_object_busy(t->busy_ms, t->busy_why));
	else {
		struct json_object *reply = json_object_new_object();
		sw_object_add(reply, "ids", json_object_get(t->ids));
		sw_object_add(reply, "skipped", json_object_get(t->skipped));
		sw_call_reply(call, reply, false);
	}
}

/* Nothing was captured: the next alert, which may name another process, must not
 * wait for a cooldown. */
static void cool_no_rule(const struct trigger *t)
{
	struct sw_rules *rules = &t->methods->rules;
	for (size_t i = 0; i < rules->n_rules; i++)
		if (rules->rules[i].last_ns == t->begin_ns)
			rules->rules[i].last_ns = INT64_MIN;
}

/* The reply, as soon as nothing is pending; frees the trigger when nobody waits. */
static void conclude(struct trigger *t)
{
	if (t->pending > 0)
		return;
	if (json_object_array_length(t->ids) == 0)
		cool_no_rule(t);
	else if (t->key != NULL)
		sw_acted_alerts_add(&t->methods->alerts, t->key, t->ids);
	if (t->call != NULL)
		answer(t); /* which frees it, by cancel */
	else
		trigger_free(t);
}

static void cancel(struct sw_call *call)
{
	struct trigger *t = call->state;
	t->call = NULL;
	if (t->pending == 0)
		trigger_free(t);
}

static void note_busy(struct trigger *t, const struct sw_refusal *refusal)
{
	static const char *const whys[] = {"queue", "rate", "target"};
	struct json_object *ms = NULL, *why = NULL;
	if (strcmp(refusal->name, SW_INTERFACE ".Busy") != 0 ||
	    !json_object_object_get_ex(refusal->parameters, "retry_after_ms", &ms) ||
	    !json_object_object_get_ex(refusal->parameters, "why", &why))
		return;
	t->busy_ms = json_object_get_int64(ms);
	for (size_t i = 0; i < SW_ARRAY_SIZE(whys); i++)
		if (strcmp(whys[i], json_object_get_string(why)) == 0)
			t->busy_why = whys[i];
}

static void note(struct trigger *t, const struct sw_series *series,
		 const struct sw_outcome *outcome)
{
	if (outcome->dump != NULL) {
		struct json_object *id = json_object_new_string(outcome->dump->id);
		if (id == NULL || json_object_array_add(t->ids, id) < 0)
			(void) json_object_put(id); /* it is in the store nevertheless */
		return;
	}
	note_busy(t, outcome->refusal);
	/* "source: rule" */
	skip(t, series->reason + t->source_size + 2, outcome->refusal->message);
}

static void on_done(struct sw_series *series, const struct sw_outcome *outcome)
{
	struct trigger *t = series->owner;
	series->owner = NULL; /* the first one only */
	if (t != NULL) {
		t->pending--;
		note(t, series, outcome);
	}
	if (outcome->dump == NULL || !sw_series_next(series))
		sw_series_destroy(series);
	if (t != NULL)
		conclude(t);
}

static void on_begun(struct sw_profiling *profiling, const struct sw_outcome *outcome)
{
	struct trigger *t = profiling->arg;
	profiling->arg = NULL;
	if (t == NULL)
		return;
	t->pending--;
	note(t, profiling->series, outcome);
	conclude(t);
}

static void on_profile(struct sw_profiling *profiling, const struct sw_outcome *outcome)
{
	on_begun(profiling, outcome); /* or it has not begun */
	sw_profiling_destroy(profiling);
}

/* The rules act with the daemon's own authority: only Deny= limits them. */
static const struct sw_caller rule_caller = {.privileged = true, .same_user_ns = true};

static void start_series(struct trigger *t, const struct sw_rule *rule,
			 const struct sw_submission *submission)
{
	struct sw_series *series =
		sw_series_create(t->methods->jobs, submission, rule->count, rule->interval_ms);
	if (series == NULL)
		return;
	series->owner = t;
	series->done = on_done;
	if (sw_series_next(series))
		t->pending++;
	else
		sw_series_destroy(series);
}

static void start_profile(struct trigger *t, const struct sw_rule *rule,
			  const struct sw_submission *submission, struct sw_refusal *refusal)
{
	const struct sw_profile_wish wish = {.mode = rule->profile_mode,
					     .rate_hz = SW_PROFILE_RATE_HZ,
					     .duration_ms = rule->profile_ms};
	struct sw_profiling *profiling =
		sw_profiling_create(t->methods->jobs, submission, &wish, refusal);
	if (profiling == NULL) {
		note_busy(t, refusal);
		skip(t, rule->name, refusal->message);
		return;
	}
	profiling->arg = t;
	profiling->begun = on_begun;
	profiling->done = on_profile;
	if (sw_profiling_start(profiling))
		t->pending++;
	else
		sw_profiling_destroy(profiling);
}

static void start_one(struct trigger *t, const struct sw_rule *rule, pid_t pid)
{
	struct sw_found found = {.pidfd = -EBADF};
	struct sw_refusal refusal = {0};
	char reason[SW_WORKER_REASON_MAX];
	(void) snprintf(reason, sizeof(reason), "%s: %s", t->source, rule->name); /* cut is fine */
	struct sw_submission submission = {.caller = &rule_caller,
					   .found = &found,
					   .reason = reason,
					   .require_exe = rule->require_exe,
					   .alert = true,
					   .store = true};
	const char *bad;
	/* No options: the configuration's. Cannot fail. */
	(void) sw_options_read(t->methods->jobs->config, NULL, &submission.options,
			       &submission.store, &bad);
	if (!sw_found_init(&found, pid, 0, -EBADF, &refusal) ||
	    !sw_target_permitted(t->methods->jobs, &rule_caller, &found, &refusal))
		skip(t, rule->name, refusal.message);
	else if (!sw_target_exe_allowed(rule, &found))
		skip(t, rule->name, "RequireExe= forbids its executable");
	else if (rule->profile_ms > 0)
		start_profile(t, rule, &submission, &refusal);
	else
		start_series(t, rule, &submission);
	sw_found_deinit(&found);
	sw_refusal_deinit(&refusal);
}

static void fire(struct trigger *t, struct sw_rule *rule, const struct sw_rule_target *target)
{
	pid_t pids[TARGETS_MAX + 1];
	struct sw_error err = {0};
	size_t n = 0, max = rule->max_targets < TARGETS_MAX ? rule->max_targets : TARGETS_MAX;
	if (sw_target_select(target->kind, target->value, max + 1, pids, &n, &err) < 0) {
		skip(t, rule->name, err.message);
		return;
	}
	if (n > max) {
		sw_log(SW_LOG_NOTICE,
		       "rule %s: more than %zu processes match: the others are left out "
		       "(MaxTargets=)",
		       rule->name, max);
		n = max;
	}
	size_t before = t->pending;
	for (size_t i = 0; i < n; i++)
		start_one(t, rule, pids[i]);
	if (t->pending > before)
		rule->last_ns = t->begin_ns;
}

static void match_rules(struct trigger *t, const struct trigger_params *p)
{
	struct sw_methods *methods = t->methods;
	for (size_t i = 0; i < methods->rules.n_rules; i++) {
		struct sw_rule *rule = &methods->rules.rules[i];
		struct sw_rule_target target = {0};
		const char *reason = "out of memory";
		int r = sw_rule_match(rule, p->source, label_find, p->labels, methods->host,
				      sw_clock_ns(), &target, &reason);
		if (r > 0)
			fire(t, rule, &target);
		else
			skip(t, rule->name, reason);
		if (r > 0)
			sw_rule_target_deinit(&target);
	}
}

static struct trigger *trigger_create(struct sw_call *call, const struct trigger_params *p)
{
	struct trigger *t = calloc(1, sizeof(*t));
	if (t == NULL)
		return NULL;
	*t = (struct trigger){.call = call,
			      .methods = call->context,
			      .source = p->source,
			      .source_size = strlen(p->source),
			      .begin_ns = sw_clock_ns(),
			      .ids = json_object_new_array(),
			      .skipped = json_object_new_array()};
	if (p->fingerprint != NULL)
		t->key = sw_acted_alerts_key(p->source, p->fingerprint, p->starts_at);
	if (t->ids == NULL || t->skipped == NULL || (p->fingerprint != NULL && t->key == NULL)) {
		trigger_free(t);
		return NULL;
	}
	call->state = t;
	call->cancel = cancel;
	return t;
}

static void act(struct trigger *t, const struct trigger_params *p)
{
	struct json_object *known =
		t->key != NULL ? sw_acted_alerts_find(&t->methods->alerts, t->key) : NULL;
	if (p->status == 1)
		skip(t, "", "resolved");
	else if (known != NULL) {
		(void) json_object_put(t->ids); /* empty */
		t->ids = json_object_get(known);
		free(t->key);
		t->key = NULL;
		skip(t, "", "duplicate");
	} else
		match_rules(t, p);
	conclude(t);
}

void sw_method_trigger(struct sw_call *call)
{
	const struct sw_methods *methods = call->context;
	struct trigger_params p = {0};
	const char *bad;
	if (!sw_params_read(call->message.parameters, trigger_table, SW_ARRAY_SIZE(trigger_table),
			    &p, &bad)) {
		sw_call_invalid(call, bad);
		return;
	}
	if (!labels_are_good(p.labels)) {
		sw_call_invalid(call, "labels");
		return;
	}
	if (!sw_methods_may_trigger(methods, &call->connection->caller)) {
		methods->jobs->counters->denied_total++;
		sw_call_error(call, SW_INTERFACE ".NotPermitted",
			      sw_object_string("rule", sw_deny_name(SW_DENY_ROOT_ONLY)));
		return;
	}
	methods->jobs->counters->alerts_total++;
	struct trigger *t = trigger_create(call, &p);
	if (t == NULL)
		sw_call_failed(call, "not enough memory");
	else
		act(t, &p);
}
