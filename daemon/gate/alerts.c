/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Alerts to triggers. Alertmanager's use of the answer (0.25.0, notify/webhook): 5xx is sent again
 * within seconds, everything else from 400 on is given up until the next group interval.
 */
#include "gate/alerts.h"
#include "cleanup.h"
#include "errors.h"

#include <pthread.h>
#include <pwd.h>
#include <snapwalk/clock.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A payload that is being worked off. */
struct batch {
	struct sw_gate *gate;
	int64_t deadline_ns;
	struct json_object *results; /* owned; an array */
	unsigned counts[SW_GATE_N_RESULTS];
	unsigned retry_s;
	bool failed; /* out of memory */
};

static void add(struct batch *b, struct json_object *to, const char *name,
		struct json_object *value)
{
	if (to != NULL && value != NULL && json_object_object_add(to, name, value) == 0)
		return;
	(void) json_object_put(value); /* NULL is legal */
	b->failed = true;
}

static unsigned retry_of(struct json_object *parameters)
{
	enum { RETRY_MAX_S = 300 };
	int64_t ms = json_object_get_int64(json_object_object_get(parameters, "retry_after_ms"));
	if (ms <= 0)
		return 1;
	return ms > RETRY_MAX_S * 1000 ? RETRY_MAX_S : (unsigned) ((ms + 999) / 1000);
}

enum sw_gate_result sw_gate_judge(const struct sw_varlink_answer *answer, unsigned *ret_retry_s)
{
	*ret_retry_s = 0;
	if (answer == NULL) {
		*ret_retry_s = SW_GATE_AWAY_S;
		return SW_GATE_BUSY;
	}
	if (answer->error == NULL) {
		struct json_object *ids = json_object_object_get(answer->parameters, "ids");
		bool captured = json_object_is_type(ids, json_type_array) &&
				json_object_array_length(ids) > 0;
		return captured ? SW_GATE_CAPTURED : SW_GATE_SKIPPED;
	}
	if (strcmp(answer->error, "io.snapwalk.Busy") == 0) {
		*ret_retry_s = retry_of(answer->parameters);
		return SW_GATE_BUSY;
	}
	if (strcmp(answer->error, "io.snapwalk.NotPermitted") == 0 ||
	    strcmp(answer->error, "org.varlink.service.PermissionDenied") == 0)
		return SW_GATE_REFUSED;
	return SW_GATE_FAILED;
}

/* The reason for a refusal: which user the daemon refuses, and what lets it in. */
static void reason_of(char *ret, size_t size)
{
	char buffer[1024];
	struct passwd user, *found = NULL;
	(void) getpwuid_r(geteuid(), &user, buffer, sizeof(buffer),
			  &found); /* then without a name */
	const char *name = found != NULL ? found->pw_name : "?";
	(void) snprintf(
		ret, size,
		"snapwalkd takes alerts from root, its Group= and its TriggerUser= only, and "
		"snapwalk-gate runs as %s (uid %u): run it as one of them, or set "
		"TriggerUser=%s in snapwalk.conf and restart snapwalkd",
		name, (unsigned) geteuid(), name);
}

/* In the answer for who sends the alerts, once in the log for who runs the gate. */
static void say_refused(struct batch *b, struct json_object *entry)
{
	char reason[512];
	reason_of(reason, sizeof(reason));
	add(b, entry, "reason", json_object_new_string(reason));
	(void) pthread_mutex_lock(&b->gate->lock);
	bool first = b->gate->results[SW_GATE_REFUSED] == 0;
	(void) pthread_mutex_unlock(&b->gate->lock);
	if (first && b->counts[SW_GATE_REFUSED] == 0)
		fprintf(stderr, "snapwalk-gate: an alert was refused: %s\n", reason);
}

/* Passes on the daemon's answer; json-c's reference counts stay in this thread. */
static void describe(struct batch *b, struct json_object *entry,
		     const struct sw_varlink_answer *answer, const struct sw_error *err)
{
	static const char *const passed[] = {"ids", "skipped"};
	if (answer == NULL) {
		add(b, entry, "error", json_object_new_string(err->message));
		return;
	}
	if (answer->error != NULL) {
		add(b, entry, "error", json_object_new_string(answer->error));
		return;
	}
	for (size_t i = 0; i < SW_ARRAY_SIZE(passed); i++) {
		struct json_object *value = json_object_object_get(answer->parameters, passed[i]);
		if (value != NULL)
			add(b, entry, passed[i], json_object_get(value));
	}
}

static enum sw_gate_result trigger(struct batch *b, const struct sw_alert *alert,
				   struct json_object *entry)
{
	struct sw_error err = {0};
	struct sw_varlink_answer answer = {0};
	unsigned retry_s;
	int r = sw_gate_call(b->gate, "io.snapwalk.Trigger",
			     sw_alert_trigger(alert, "alertmanager"), b->deadline_ns, &answer,
			     &err);
	const struct sw_varlink_answer *got = r == 0 ? &answer : NULL;
	enum sw_gate_result result = sw_gate_judge(got, &retry_s);
	if (retry_s > b->retry_s)
		b->retry_s = retry_s;
	describe(b, entry, got, &err);
	if (result == SW_GATE_REFUSED)
		say_refused(b, entry);
	sw_varlink_answer_deinit(&answer);
	return result;
}

static bool seen_before(struct sw_gate *gate, uint64_t key)
{
	(void) pthread_mutex_lock(&gate->lock);
	bool seen = sw_gate_seen_has(&gate->seen, key);
	(void) pthread_mutex_unlock(&gate->lock);
	return seen;
}

/* Only what led to a dump is not asked for again: rules change, cooldowns end. */
static void count(struct sw_gate *gate, enum sw_gate_result result, uint64_t key)
{
	(void) pthread_mutex_lock(&gate->lock);
	gate->results[result]++;
	if (result == SW_GATE_CAPTURED)
		sw_gate_seen_add(&gate->seen, key);
	(void) pthread_mutex_unlock(&gate->lock);
}

static void take_alert(struct batch *b, const struct sw_alert *alert)
{
	struct json_object *entry = json_object_new_object();
	uint64_t key = sw_gate_seen_key(alert);
	enum sw_gate_result result = SW_GATE_RESOLVED;
	if (alert->fingerprint != NULL)
		add(b, entry, "fingerprint", json_object_new_string(alert->fingerprint));
	if (alert->firing)
		result = seen_before(b->gate, key) ? SW_GATE_DUPLICATE : trigger(b, alert, entry);
	add(b, entry, "result", json_object_new_string(sw_gate_result_name(result)));
	count(b->gate, result, key);
	b->counts[result]++;
	if (entry == NULL || json_object_array_add(b->results, entry) < 0) {
		(void) json_object_put(entry); /* NULL is legal */
		b->failed = true;
	}
}

static struct json_object *summary(struct batch *b)
{
	struct json_object *all = json_object_new_object();
	for (int i = 0; i < SW_GATE_N_RESULTS; i++)
		add(b, all, sw_gate_result_name((enum sw_gate_result) i),
		    json_object_new_int64(b->counts[i]));
	add(b, all, "alerts", sw_take_ptr(b->results));
	if (b->failed) {
		(void) json_object_put(all); /* NULL is legal */
		all = NULL;
	}
	return all;
}

static void work_off(struct batch *b, const struct sw_alerts *alerts, struct sw_gate_reply *ret)
{
	b->results = json_object_new_array();
	b->failed = b->results == NULL;
	for (size_t i = 0; i < alerts->n_alerts && !b->failed; i++)
		take_alert(b, &alerts->alerts[i]);
	unsigned code = b->counts[SW_GATE_BUSY] > 0      ? 503
			: b->counts[SW_GATE_REFUSED] > 0 ? 403
							 : 200;
	sw_gate_reply_json(ret, code, summary(b));
	ret->retry_after_s = b->retry_s;
}

void sw_gate_alerts(struct sw_gate *gate, const char *body, size_t size, struct sw_gate_reply *ret)
{
	struct sw_alerts alerts;
	struct sw_error err = {0};
	int r = sw_alerts_parse(body, size, &alerts, &err);
	if (r < 0) {
		sw_gate_reply_error(ret, r == -SW_E_NOMEM ? 503 : 400, err.message);
		ret->retry_after_s = SW_GATE_AWAY_S;
		return;
	}
	struct batch b = {.gate = gate,
			  .deadline_ns = sw_clock_ns() + SW_GATE_REQUEST_MS * INT64_C(1000000)};
	work_off(&b, &alerts, ret);
	sw_alerts_deinit(&alerts);
}
