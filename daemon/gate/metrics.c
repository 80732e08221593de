/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * GET /metrics: the daemon's Status and the gate's own counters in Prometheus' text format 0.0.4.
 * The names of the daemon's counters are metric names without "snapwalk_", perhaps with labels;
 * "_us" in a name is microseconds, which Prometheus wants as seconds.
 */
#include "gate/metrics.h"
#include "cleanup.h"
#include "parts.h"

#include <snapwalk/clock.h>
#include <inttypes.h>
#include <string.h>

enum { COUNTERS_MAX = 512, COUNTER_NAME_MAX = 255 };

/* A counter of the daemon, as it is printed. */
struct sample {
	char family[COUNTER_NAME_MAX + 32]; /* without labels and histogram suffix */
	char name[COUNTER_NAME_MAX + 32];   /* with unit and suffix, without labels */
	const char *labels;                 /* borrowed; "" or "{...}" */
	const char *type;                   /* static */
	const char *help;                   /* static; NULL: a counter that we do not know */
	int64_t value;
	bool micros;
	bool written;
};

static bool is_name(const char *s, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!((s[i] >= 'a' && s[i] <= 'z') || s[i] == '_' ||
		      (i > 0 && s[i] >= '0' && s[i] <= '9')))
			return false;
	return length > 0;
}

/* {name="value",...} with nothing in the values that would need an escape. */
static bool are_labels(const char *s)
{
	if (s[0] == '\0')
		return true;
	for (s++;; s++) {
		size_t name = strcspn(s, "=");
		if (!is_name(s, name) || s[name] != '=' || s[name + 1] != '"')
			return false;
		s += name + 2;
		s += strcspn(s, "\"\\\n");
		if (s[0] != '"')
			return false;
		s++;
		if (strcmp(s, "}") == 0)
			return true;
		if (s[0] != ',')
			return false;
	}
}

/* The help text of a counter of the daemon; key: its name, with labels perhaps. NULL: unknown, as
 * of a later daemon. */
static const char *help_of(const char *key, size_t length)
{
	static const struct {
		const char *name, *help;
	} known[] = {
		{"calls_total", "Calls of the socket."},
		{"connections_total", "Connections to the socket that were taken."},
		{"connections_refused_total",
		 "Connections to the socket that were refused: too many."},
		{"captures_total", "Captures that ended with a dump."},
		{"captures_failed_total", "Captures that ended with an error."},
		{"captures_incomplete_total", "Dumps that are not complete."},
		{"coalesced_total", "Calls that were answered with the dump of another call."},
		{"busy_queue_total", "Captures refused: the queue is full."},
		{"busy_rate_total", "Captures refused: too many of one user."},
		{"busy_target_total", "Captures refused: the process was captured just before."},
		{"denied_total", "Calls and alerts refused: not permitted."},
		{"workers_killed_total",
		 "Workers ended by the daemon: at their deadline, or no longer wanted."},
		{"workers_died_total", "Workers that ended by themselves without an answer."},
		{"alerts_total", "Alerts received."},
		{"events_watched_total", "Processes that rules with OnEvent began to watch."},
		{"events_fired_total", "Events for which rules with OnEvent acted."},
		{"stopped_us_total", "Time for which processes were stopped."},
		{"capture_us_total", "Time that captures took, from the call to the dump."},
		{"stop_us", "How long a capture stopped threads; 0: it stopped none."},
		{"capture_us", "How long a capture took, from the call to the dump."},
		{"threads_total", "Threads in dumps."},
		{"dump_bytes_total", "Bytes of dumps, as JSON."},
		{"store_failed_total", "Dumps that could not be stored."},
		{"on_dump_dropped_total", "Runs of OnDump left out: too many wait."},
		{"continuous_total", "Profiles of sections [profile NAME]."},
		{"continuous_failed_total", "Profiles of sections that could not be made."},
		{"continuous_postponed_total", "Turns of sections put off for ProfileCPU."},
		{"continuous_cpu_us_total", "CPU time of the workers of sections."},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(known); i++)
		if (strlen(known[i].name) == length && memcmp(known[i].name, key, length) == 0)
			return known[i].help;
	return NULL;
}

/* "stop_us_sum" becomes family snapwalk_stop_seconds and name snapwalk_stop_seconds_sum. */
static bool sample_init(struct sample *ret, const char *key, int64_t value)
{
	static const char *const parts[] = {"_bucket", "_sum", "_count", "_total"};
	const char *bare = strncmp(key, "snapwalk_", 9) == 0 ? key + 9 : key;
	size_t length = strcspn(bare, "{");
	*ret = (struct sample){.labels = bare + length, .type = "counter", .value = value};
	if (length > COUNTER_NAME_MAX || !is_name(bare, length) || !are_labels(bare + length))
		return false;
	char stem[COUNTER_NAME_MAX + 1];
	(void) snprintf(stem, sizeof(stem), "%.*s", (int) length, bare);
	const char *part = "";
	for (size_t i = 0; i < SW_ARRAY_SIZE(parts) && part[0] == '\0'; i++)
		if (sw_ends_with(stem, parts[i]))
			part = parts[i];
	bool total = strcmp(part, "_total") == 0;
	ret->help = help_of(stem, total ? length : length - strlen(part));
	stem[length - strlen(part)] = '\0';
	bool micros = sw_ends_with(stem, "_us");
	if (micros)
		stem[strlen(stem) - strlen("_us")] = '\0';
	bool histogram = part[0] != '\0' && !total;
	ret->micros = micros && strcmp(part, "_bucket") != 0 && strcmp(part, "_count") != 0;
	ret->type = histogram ? "summary" : "counter";
	const char *unit = micros ? "_seconds" : "";
	(void) snprintf(ret->name, sizeof(ret->name), "snapwalk_%s%s%s", stem, unit, part);
	(void) snprintf(ret->family, sizeof(ret->family), "snapwalk_%s%s%s", stem, unit,
			histogram ? "" : part);
	return true;
}

static void put_sample(struct sw_text *text, const struct sample *s)
{
	sw_text_printf(text, "%s%s ", s->name, s->labels);
	if (s->micros)
		sw_text_printf(text, "%" PRId64 ".%06d\n", s->value / 1000000,
			       (int) (s->value % 1000000));
	else
		sw_text_printf(text, "%" PRId64 "\n", s->value);
}

/* All lines of a family have to be together, whatever the order of the counters. */
static void put_family(struct sw_text *text, struct sample *samples, size_t n, size_t first)
{
	const struct sample *f = &samples[first];
	const char *type = f->type;
	for (size_t i = first; i < n; i++)
		if (strcmp(samples[i].family, f->family) == 0 &&
		    sw_ends_with(samples[i].name, "_bucket"))
			type = "histogram";
	if (f->help != NULL)
		sw_text_printf(text, "# HELP %s %s\n", f->family, f->help);
	sw_text_printf(text, "# TYPE %s %s\n", f->family, type);
	for (size_t i = first; i < n; i++) {
		if (strcmp(samples[i].family, f->family) != 0)
			continue;
		put_sample(text, &samples[i]);
		samples[i].written = true;
	}
}

static void put_counters(struct sw_text *text, struct json_object *counters)
{
	if (!json_object_is_type(counters, json_type_object))
		return;
	sw_cleanup(sw_free_p) struct sample *samples = calloc(COUNTERS_MAX, sizeof(*samples));
	size_t n = 0;
	if (samples == NULL) {
		text->failed = true;
		return;
	}
	json_object_object_foreach(counters, key, value)
	{
		bool fits = n < COUNTERS_MAX && json_object_is_type(value, json_type_int) &&
			    json_object_get_int64(value) >= 0;
		if (fits && sample_init(&samples[n], key, json_object_get_int64(value)))
			n++;
	}
	for (size_t i = 0; i < n; i++)
		if (!samples[i].written)
			put_family(text, samples, n, i);
}

static void put_gauges(struct sw_text *text, struct json_object *status)
{
	static const struct {
		const char *member, *name, *help;
	} gauges[] = {
		{"capturing", "captures_running", "Captures under way."},
		{"watching", "processes_watched", "Processes whose events are waited for."},
		{"queued", "queue_length", "Captures that wait."},
		{"connections", "connections", "Clients of the socket."},
		{"subscribers", "subscribers", "Clients that are told of new dumps."},
		{"stored", "stored_dumps", "Dumps on disk."},
		{"stored_bytes", "stored_bytes", "Bytes of the dumps on disk."},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(gauges); i++) {
		struct json_object *value = json_object_object_get(status, gauges[i].member);
		if (!json_object_is_type(value, json_type_int))
			continue;
		sw_text_printf(text, "# HELP snapwalk_%s %s\n# TYPE snapwalk_%s gauge\n",
			       gauges[i].name, gauges[i].help, gauges[i].name);
		sw_text_printf(text, "snapwalk_%s %" PRId64 "\n", gauges[i].name,
			       json_object_get_int64(value));
	}
	int64_t uptime_ms = json_object_get_int64(json_object_object_get(status, "uptime_ms"));
	if (uptime_ms > 0)
		sw_text_printf(text,
			       "# HELP snapwalk_uptime_seconds Since the daemon began.\n"
			       "# TYPE snapwalk_uptime_seconds gauge\n"
			       "snapwalk_uptime_seconds %" PRId64 ".%03d\n",
			       uptime_ms / 1000, (int) (uptime_ms % 1000));
}

static void put_own(struct sw_text *text, struct sw_gate *gate)
{
	(void) pthread_mutex_lock(&gate->lock);
	sw_text_printf(text, "# HELP snapwalk_gate_requests_total HTTP requests, by answer.\n"
			     "# TYPE snapwalk_gate_requests_total counter\n");
	for (size_t i = 0; i < SW_GATE_N_CODES; i++)
		sw_text_printf(text, "snapwalk_gate_requests_total{code=\"%u\"} %" PRIu64 "\n",
			       sw_gate_codes[i], gate->requests[i]);
	sw_text_printf(text, "# HELP snapwalk_gate_alerts_total Alerts received, by what came of "
			     "them.\n"
			     "# TYPE snapwalk_gate_alerts_total counter\n");
	for (int i = 0; i < SW_GATE_N_RESULTS; i++)
		sw_text_printf(text, "snapwalk_gate_alerts_total{result=\"%s\"} %" PRIu64 "\n",
			       sw_gate_result_name((enum sw_gate_result) i), gate->results[i]);
	(void) pthread_mutex_unlock(&gate->lock);
}

void sw_gate_metrics_text(struct sw_gate *gate, struct json_object *status, struct sw_text *text)
{
	sw_text_printf(text,
		       "# HELP snapwalk_up Whether the daemon answers.\n"
		       "# TYPE snapwalk_up gauge\n"
		       "snapwalk_up %d\n",
		       status != NULL);
	if (status != NULL) {
		put_gauges(text, status);
		put_counters(text, json_object_object_get(status, "counters"));
	}
	put_own(text, gate);
}

/* 1: the daemon answered. */
static bool ask_status(struct sw_gate *gate, struct sw_varlink_answer *ret, struct sw_error *err)
{
	int64_t deadline_ns = sw_clock_ns() + SW_GATE_PROBE_MS * INT64_C(1000000);
	int r = sw_gate_call(gate, "io.snapwalk.Status", json_object_new_object(), deadline_ns, ret,
			     err);
	if (r == 0 && ret->error != NULL)
		(void) snprintf(err->message, sizeof(err->message), "the daemon says %s",
				ret->error);
	return r == 0 && ret->error == NULL;
}

void sw_gate_metrics(struct sw_gate *gate, struct sw_gate_reply *ret)
{
	struct sw_varlink_answer answer = {0};
	struct sw_error err = {0};
	struct sw_text text = {0};
	bool up = ask_status(gate, &answer, &err);
	sw_gate_metrics_text(gate, up ? answer.parameters : NULL, &text);
	sw_varlink_answer_deinit(&answer);
	if (text.failed)
		sw_text_deinit(&text);
	*ret = (struct sw_gate_reply){.code = 200,
				      .type = "text/plain; version=0.0.4; charset=utf-8",
				      .body = text.data,
				      .size = text.size};
}

void sw_gate_health(struct sw_gate *gate, struct sw_gate_reply *ret)
{
	struct sw_varlink_answer answer = {0};
	struct sw_error err = {0};
	if (ask_status(gate, &answer, &err)) {
		struct json_object *all = json_object_new_object();
		struct json_object *version = json_object_object_get(answer.parameters, "version");
		if (all != NULL && version != NULL)
			(void) json_object_object_add(all, "version", json_object_get(version));
		sw_gate_reply_json(ret, 200, all);
	} else {
		sw_gate_reply_error(ret, 503, err.message);
		ret->retry_after_s = SW_GATE_AWAY_S;
	}
	sw_varlink_answer_deinit(&answer);
}
