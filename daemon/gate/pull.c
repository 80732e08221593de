/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Queries to calls of the daemon, and its dumps to what was asked for. */
#include "gate/pull.h"
#include "cleanup.h"
#include "errors.h"
#include "json.h"

#include <snapwalk/clock.h>
#include <snapwalk/profile.h>

#include <string.h>

enum {
	ANSWER_MS = 10000, /* more than a profile lasts, and for a dump: walking, naming, a queue */
	DEPTH_MAX = 32,
	MS_PER_S = 1000,
	NS_PER_MS = 1000000,
};

/* ---- queries --------------------------------------------------------------------------------- */

/* text NULL: fallback. */
static int parse_number(const char *name, const char *text, int64_t min, int64_t max,
			int64_t fallback, int64_t *ret, struct sw_error *err)
{
	if (text == NULL) {
		*ret = fallback;
		return 0;
	}
	size_t digits = strspn(text, "0123456789");
	int64_t value =
		digits > 0 && digits < 10 && text[digits] == '\0' ? strtoll(text, NULL, 10) : -1;
	if (value < min || value > max)
		return sw_fail(err, SW_E_INVALID, "%s is not a number from %lld to %lld", name,
			       (long long) min, (long long) max);
	*ret = value;
	return 0;
}

/* Consumes value. */
static void add(struct json_object *to, const char *name, struct json_object *value, bool *failed)
{
	if (to != NULL && value != NULL && json_object_object_add(to, name, value) == 0)
		return;
	(void) json_object_put(value); /* NULL is legal */
	*failed = true;
}

static struct json_object *target_json(const char *name, int64_t pid, bool *failed)
{
	struct json_object *target = json_object_new_object();
	add(target, "pull", json_object_new_string(name), failed);
	if (pid > 0)
		add(target, "pid", json_object_new_int64(pid), failed);
	return target;
}

static int parse_profile(const struct sw_gate_query *query, struct sw_gate_wish *wish, bool *failed,
			 struct sw_error *err)
{
	static const char *const modes[] = {"cpu", "wall", "off"};
	const char *mode = NULL;
	int64_t seconds, rate;
	int r = parse_number("seconds", query->seconds, 1, SW_GATE_PULL_SECONDS_MAX,
			     SW_GATE_PULL_SECONDS, &seconds, err);
	if (r == 0)
		r = parse_number("rate", query->rate, 1, SW_GATE_PULL_RATE_MAX, 0, &rate, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < SW_ARRAY_SIZE(modes); i++)
		if (query->mode == NULL || strcmp(query->mode, modes[i]) == 0) {
			mode = modes[i];
			break;
		}
	if (mode == NULL)
		return sw_fail(err, SW_E_INVALID, "mode is not cpu, wall or off");
	wish->wait_ms += seconds * MS_PER_S;
	add(wish->parameters, "duration_ms", json_object_new_int64(seconds * MS_PER_S), failed);
	add(wish->parameters, "mode", json_object_new_string(mode), failed);
	if (rate > 0)
		add(wish->parameters, "rate_hz", json_object_new_int64(rate), failed);
	return 0;
}

static int parse_wish(const struct sw_gate_query *query, struct sw_gate_wish *wish, bool *failed,
		      struct sw_error *err)
{
	int64_t pid, debug;
	if (query->target == NULL || query->target[0] == '\0')
		return sw_fail(err, SW_E_INVALID,
			       "target is missing: the name of a section [pull NAME] of the rules");
	if (strlen(query->target) > SW_GATE_PULL_NAME_MAX)
		return sw_fail(err, SW_E_INVALID,
			       "target has more than %d bytes: no section has such a name",
			       SW_GATE_PULL_NAME_MAX);
	int r = parse_number("pid", query->pid, 1, INT32_MAX, 0, &pid, err);
	if (r == 0)
		r = parse_number("debug", query->debug, 0, 2, 0, &debug, err);
	if (r < 0)
		return r;
	wish->debug = (unsigned) debug;
	wish->json = query->format != NULL && strcmp(query->format, "json") == 0;
	if (query->format != NULL && !wish->json)
		return sw_fail(err, SW_E_INVALID, "format is not json");
	add(wish->parameters, "target", target_json(query->target, pid, failed), failed);
	return wish->pull == SW_GATE_PULL_PROFILE ? parse_profile(query, wish, failed, err) : 0;
}

int sw_gate_wish_parse(enum sw_gate_pull pull, const struct sw_gate_query *query,
		       struct sw_gate_wish *ret, struct sw_error *err)
{
	struct sw_gate_wish wish = {
		.pull = pull,
		.parameters = json_object_new_object(),
		.wait_ms = ANSWER_MS,
	};
	bool failed = wish.parameters == NULL;
	int r = parse_wish(query, &wish, &failed, err);
	if (r == 0 && failed)
		r = sw_fail_nomem(err);
	if (r < 0)
		(void) json_object_put(wish.parameters); /* NULL is legal */
	else
		*ret = wish;
	return r;
}

/* ---- replies --------------------------------------------------------------------------------- */

static int write_profile(const struct sw_gate_wish *wish, const struct sw_profile *profile,
			 const struct sw_profile_write_options *options, struct sw_gate_reply *ret,
			 struct sw_error *err)
{
	const enum sw_profile_format format = wish->debug > 0 ? SW_PROFILE_TEXT : SW_PROFILE_PPROF;
	ret->type = wish->debug > 0 ? "text/plain; charset=utf-8" : "application/octet-stream";
	return sw_profile_write(profile, format, options, &ret->body, &ret->size, err);
}

static int reply_profile(const struct sw_gate_wish *wish, struct sw_json_part part,
			 struct sw_gate_reply *ret, struct sw_error *err)
{
	struct sw_profile *profile = NULL;
	int r = sw_profile_parse(part.data, part.size, &profile, err);
	if (r == 0)
		r = write_profile(wish, profile, NULL, ret, err);
	sw_profile_destroy(profile);
	return r;
}

/* A row is a thread with a stack: as many values as there are threads are enough. */
static int count_threads(const struct sw_report *report, struct sw_profile *profile,
			 uint64_t (**ret_rows)[SW_PROFILE_VALUES_MAX], struct sw_error *err)
{
	sw_cleanup(sw_free_p) uint32_t *rows = calloc(report->n_threads + 1, sizeof(*rows));
	*ret_rows = calloc(report->n_threads + 1, sizeof(**ret_rows));
	if (rows == NULL || *ret_rows == NULL)
		return sw_fail_nomem(err);
	int r = sw_profile_add(profile, report, NULL, rows, err);
	for (size_t i = 0; r == 0 && i < report->n_threads; i++)
		if (rows[i] != SW_PROFILE_NO_ROW && rows[i] < report->n_threads)
			(*ret_rows)[rows[i]][0]++;
	return r;
}

/* As "goroutine" of Go: how many are at each stack. */
static int reply_counts(const struct sw_gate_wish *wish, const struct sw_report *report,
			struct sw_gate_reply *ret, struct sw_error *err)
{
	struct sw_profile *profile = NULL;
	sw_cleanup(sw_free_p) uint64_t(*rows)[SW_PROFILE_VALUES_MAX] = NULL;
	int r = sw_profile_create(NULL, &profile, err);
	if (r == 0)
		r = count_threads(report, profile, &rows, err);
	if (r == 0) {
		const struct sw_profile_info info = {.mode = "wall",
						     .begin_ns = report->time_ns,
						     .n_samples = 1};
		const struct sw_profile_values values = {
			.types = {{"threads", "count"}},
			.n_types = 1,
			.rows = (const uint64_t(*)[SW_PROFILE_VALUES_MAX]) rows,
			.n_rows = sw_profile_totals(profile).n_rows,
		};
		const struct sw_profile_write_options options = {.values = &values};
		sw_profile_set_info(profile, &info);
		r = write_profile(wish, profile, &options, ret, err);
	}
	sw_profile_destroy(profile);
	return r;
}

static int reply_stacks(const struct sw_gate_wish *wish, struct sw_json_part part,
			struct sw_gate_reply *ret, struct sw_error *err)
{
	struct sw_report *report = NULL;
	/* debug=2 of Go is each goroutine by itself. */
	const struct sw_text_options text = {.no_group = wish->debug == 2,
					     .all = true,
					     .no_hints = true};
	int r = sw_report_parse(part.data, part.size, &report, err);
	if (r < 0)
		return r;
	if (wish->debug == 0)
		r = reply_counts(wish, report, ret, err);
	else {
		ret->type = "text/plain; charset=utf-8";
		r = sw_report_text(report, &text, &ret->body, &ret->size, err);
	}
	sw_report_destroy(report);
	return r;
}

static int reply_json(struct sw_json_part part, struct sw_gate_reply *ret, struct sw_error *err)
{
	ret->type = "application/json";
	ret->body = strndup(part.data, part.size);
	ret->size = part.size;
	return ret->body == NULL ? sw_fail_nomem(err) : 0;
}

static void reply_dump(struct sw_gate *gate, const struct sw_gate_wish *wish, const char *text,
		       size_t size, struct sw_gate_reply *ret)
{
	struct sw_json_part part = {0};
	struct sw_error err = {0};
	bool is_profile = wish->pull == SW_GATE_PULL_PROFILE;
	*ret = (struct sw_gate_reply){.code = 200};
	/* A conversion may take ten times the text: one after the other. */
	(void) pthread_mutex_lock(&gate->conversion);
	int r = sw_json_scan_find(text, size, DEPTH_MAX, is_profile ? "profile" : "dump", &part,
				  &err);
	if (r == 0)
		r = wish->json   ? reply_json(part, ret, &err)
		    : is_profile ? reply_profile(wish, part, ret, &err)
				 : reply_stacks(wish, part, ret, &err);
	(void) pthread_mutex_unlock(&gate->conversion);
	if (r < 0)
		sw_gate_reply_error(ret, 500, err.message);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void reply_ambiguous(const struct sw_varlink_answer *answer, struct sw_gate_reply *ret)
{
	struct json_object *object = json_object_new_object(), *pids = NULL;
	bool failed = object == NULL;
	add(object, "error",
	    json_object_new_string("several processes match: add pid= with one of them"), &failed);
	if (json_object_object_get_ex(answer->parameters, "pids", &pids))
		add(object, "pids", json_object_get(pids), &failed);
	if (failed) {
		(void) json_object_put(object); /* NULL is legal */
		object = NULL;
	}
	sw_gate_reply_json(ret, 409, object);
}

static unsigned retry_of(const struct sw_varlink_answer *answer)
{
	enum { RETRY_MAX_S = 300 };
	int64_t ms =
		json_object_get_int64(json_object_object_get(answer->parameters, "retry_after_ms"));
	int64_t s = (ms + MS_PER_S - 1) / MS_PER_S;
	return s < 1 ? 1 : s > RETRY_MAX_S ? RETRY_MAX_S : (unsigned) s;
}

/* A text of the parameters; "" where there is none. Borrowed. */
static const char *text_of(const struct sw_varlink_answer *answer, const char *name)
{
	struct json_object *value = NULL;
	if (!json_object_object_get_ex(answer->parameters, name, &value) ||
	    !json_object_is_type(value, json_type_string))
		return "";
	return json_object_get_string(value);
}

/* Says which of the query's words the daemon does not take. */
static void reply_invalid(const char *parameter, struct sw_gate_reply *ret)
{
	char message[128];
	if (strcmp(parameter, "duration_ms") == 0)
		(void) snprintf(message, sizeof(message),
				"seconds is above MaxSec= of the section");
	else
		(void) snprintf(message, sizeof(message),
				"the daemon does not take the parameter %.32s",
				parameter); /* fits */
	sw_gate_reply_error(ret, 400, message);
}

/* Answers of the daemon, by their names without its interface's. */
static void reply_refused(const struct sw_varlink_answer *answer, struct sw_gate_reply *ret)
{
	static const struct {
		const char *error;
		unsigned code;
		const char *message;
	} errors[] = {
		{"io.snapwalk.NoMatch", 404,
		 "no process that the rules let be pulled has that name"},
		{"io.snapwalk.NoSuchProcess", 404, "the process has ended"},
		{"io.snapwalk.TargetExited", 404, "the process has ended"},
		{"io.snapwalk.NotPermitted", 403,
		 "not permitted: see TriggerUser=, Deny= and RequireExe= in snapwalk.conf(5)"},
		{"io.snapwalk.Busy", 503, "busy: the process is being pulled, or too many are"},
		{"io.snapwalk.TooLarge", 500, "the answer is too large: take fewer seconds"},
		{"io.snapwalk.Unsupported", 500,
		 "the kernel refuses events of the CPU clock: add mode=wall"},
	};
	if (strcmp(answer->error, "io.snapwalk.Ambiguous") == 0) {
		reply_ambiguous(answer, ret);
		return;
	}
	if (strcmp(answer->error, "org.varlink.service.InvalidParameter") == 0) {
		reply_invalid(text_of(answer, "parameter"), ret);
		return;
	}
	if (strcmp(answer->error, "io.snapwalk.InvalidTarget") == 0) {
		sw_gate_reply_error(ret, 400, text_of(answer, "detail"));
		return;
	}
	for (size_t i = 0; i < SW_ARRAY_SIZE(errors); i++)
		if (strcmp(answer->error, errors[i].error) == 0) {
			sw_gate_reply_error(ret, errors[i].code, errors[i].message);
			ret->retry_after_s = retry_of(answer);
			return;
		}
	sw_gate_reply_error(ret, 500, answer->error);
}

/* ---- a pull ---------------------------------------------------------------------------------- */

/* False: as many are under way as may be. */
static bool pull_begin(struct sw_gate *gate)
{
	(void) pthread_mutex_lock(&gate->lock);
	bool fits = gate->n_pulls < SW_GATE_PULLS_MAX;
	gate->n_pulls += fits;
	(void) pthread_mutex_unlock(&gate->lock);
	return fits;
}

static void pull_end(struct sw_gate *gate)
{
	(void) pthread_mutex_lock(&gate->lock);
	gate->n_pulls--;
	(void) pthread_mutex_unlock(&gate->lock);
}

/* Consumes the parameters of the wish. */
static void ask(struct sw_gate *gate, struct sw_gate_wish *wish, int peer_fd,
		struct sw_gate_reply *ret)
{
	const char *method =
		wish->pull == SW_GATE_PULL_PROFILE ? "io.snapwalk.Profile" : "io.snapwalk.Capture";
	struct sw_varlink_answer answer = {0};
	struct sw_error err = {0};
	sw_cleanup(sw_free_p) char *text = NULL;
	size_t size = 0;
	int64_t deadline_ns = sw_clock_ns() + wish->wait_ms * NS_PER_MS;
	int r = sw_gate_call_text(gate, method, sw_take_ptr(wish->parameters), deadline_ns, peer_fd,
				  &answer, &text, &size, &err);
	if (r < 0) {
		sw_gate_reply_error(ret, 503, err.message);
		ret->retry_after_s = SW_GATE_AWAY_S;
	} else if (text != NULL)
		reply_dump(gate, wish, text, size, ret);
	else
		reply_refused(&answer, ret);
	sw_varlink_answer_deinit(&answer);
}

void sw_gate_pull(struct sw_gate *gate, enum sw_gate_pull pull, const struct sw_gate_query *query,
		  int peer_fd, struct sw_gate_reply *ret)
{
	struct sw_gate_wish wish;
	struct sw_error err = {0};
	int r = sw_gate_wish_parse(pull, query, &wish, &err);
	if (r < 0) {
		sw_gate_reply_error(ret, r == -SW_E_INVALID ? 400 : 500, err.message);
	} else if (!pull_begin(gate)) {
		(void) json_object_put(wish.parameters); /* the only reference */
		sw_gate_reply_error(ret, 503, "too many profiles are being pulled");
		ret->retry_after_s = SW_GATE_AWAY_S;
	} else {
		ask(gate, &wish, peer_fd, ret);
		pull_end(gate);
	}
}
