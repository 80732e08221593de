/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/dump.h"
#include "cleanup.h"
#include "daemon/call.h"
#include "daemon/first.h"
#include "daemon/stream.h"
#include "daemon/complaint.h"
#include "errors.h"
#include "utf8.h"

#include <string.h>
#include <time.h>

enum { MS_PER_S = 1000, SILENCE_MS = 60000 }; /* a full queue before us, and a capture */

void sw_daemon_dump_deinit(struct sw_daemon_dump *dump)
{
	free(dump->text);
	if (dump->report != NULL)
		sw_report_destroy(dump->report);
	*dump = (struct sw_daemon_dump){0};
}

static bool take_piece(void *arg, const char *text, size_t size, struct sw_complaint *why)
{
	struct sw_error err = {0};
	if (sw_stream_take(arg, text, size, &err) == 0)
		return true;
	sw_complaint_of_error(why, &err, 0);
	return false;
}

/* "2026-11-20T10:35:50.084579Z"; 0: it is no time. */
static int64_t time_parse(const char *text)
{
	struct tm parts = {0};
	char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &parts);
	if (end == NULL)
		return 0;
	int64_t ns = (int64_t) timegm(&parts) * 1000000000;
	int64_t unit_ns = 100000000;
	for (end += *end == '.'; *end >= '0' && *end <= '9'; end++, unit_ns /= 10)
		ns += (*end - '0') * unit_ns;
	return ns;
}

static void take_summary(struct sw_daemon_dump *dump, struct json_object *summary)
{
	struct json_object *process = json_object_object_get(summary, "process");
	dump->stored = json_object_get_boolean(json_object_object_get(summary, "stored"));
	dump->complete = json_object_get_boolean(json_object_object_get(summary, "complete"));
	dump->time_ns = time_parse(sw_json_string(summary, "time"));
	(void) snprintf(dump->id, sizeof(dump->id), "%s", sw_json_string(summary, "id"));
	(void) snprintf(dump->comm, sizeof(dump->comm), "%s", sw_json_string(process, "comm"));
}

/* A report is made when somebody reads it: of 20 MiB of JSON it takes half a second. */
static bool finish(const struct sw_options *options, struct sw_stream *stream,
		   struct sw_daemon_dump *ret, struct sw_complaint *why)
{
	struct sw_error err = {0};
	struct sw_daemon_dump dump = {.coalesced = stream->coalesced,
				      .profile = sw_stream_is_profile(stream)};
	take_summary(&dump, stream->summary);
	bool as_it_is = options->format == SW_FORMAT_JSON && dump.complete && !options->verbose &&
			options->filter.states == NULL && options->filter.function == NULL &&
			options->filter.name == NULL;
	int r = sw_stream_finish(stream, &dump.text, &dump.size, &err);
	if (r == 0 && !as_it_is && !dump.profile)
		r = sw_report_parse(dump.text, dump.size, &dump.report, &err);
	if (r < 0) {
		sw_complaint_of_error(why, &err, 0);
		sw_daemon_dump_deinit(&dump);
		return false;
	}
	*ret = dump;
	return true;
}

static bool call(const struct sw_options *options, const char *method,
		 struct json_object *parameters, uint32_t takes_ms, struct sw_stop_signals *stop,
		 struct sw_daemon_dump *ret, struct sw_complaint *why)
{
	struct sw_stream stream = {0};
	int wait_ms = SILENCE_MS + (int) (takes_ms < INT32_MAX / 2 ? takes_ms : 0);
	bool ok = sw_daemon_call_text(options, method, parameters, wait_ms, stop, take_piece,
				      &stream, why) &&
		  finish(options, &stream, ret, why);
	sw_stream_deinit(&stream);
	return ok;
}

/* Only what was asked for: the rest is the daemon's configuration. */
static struct json_object *options_of(const struct sw_options *o)
{
	static const char *const levels[] = {[SW_SYMBOLS_NONE] = "none",
					     [SW_SYMBOLS_NAMES] = "names",
					     [SW_SYMBOLS_LINES] = "lines"};
	static const char *const stops[] = {
		[SW_STOP_AUTO] = "auto", [SW_STOP_NEVER] = "never", [SW_STOP_ALWAYS] = "always"};
	struct json_object *p = json_object_new_object();
	bool ok = p != NULL;
	if (ok && o->stop_given)
		ok = sw_json_add(p, "stop", json_object_new_string(stops[o->snapshot.stop]));
	if (ok && o->snapshot.max_stop_ms != 0)
		ok = sw_json_add(p, "max_stop_ms", json_object_new_int64(o->snapshot.max_stop_ms));
	if (ok && o->timeout_given && o->timeout_ms != 0)
		ok = sw_json_add(p, "timeout_ms", json_object_new_int64(o->timeout_ms));
	if (ok && o->walk.max_frames != 0)
		ok = sw_json_add(p, "depth", json_object_new_int64((int64_t) o->walk.max_frames));
	if (ok && o->snapshot.stack_bytes != 0)
		ok = sw_json_add(p, "stack_bytes",
				 json_object_new_int64((int64_t) o->snapshot.stack_bytes));
	if (ok && o->symbolize.level != SW_SYMBOLS_LINES)
		ok = sw_json_add(p, "symbols", json_object_new_string(levels[o->symbolize.level]));
	if (ok && o->symbolize.no_inlines)
		ok = sw_json_add(p, "inlines", json_object_new_boolean(false));
	if (ok && o->not_stored)
		ok = sw_json_add(p, "store", json_object_new_boolean(false));
	if (!ok) {
		(void) json_object_put(p); /* NULL is legal */
		p = NULL;
	}
	return p;
}

/* Messages are UTF-8: what comes from an environment may be anything. */
static bool add_reason(struct json_object *p, const char *reason)
{
	sw_cleanup(sw_free_p) char *copy = strdup(reason);
	if (copy == NULL)
		return false;
	sw_utf8_make_plain(copy);
	return sw_json_add(p, "reason", json_object_new_string(copy));
}

/* NULL: out of memory. */
static struct json_object *parameters_of(const struct sw_options *options, pid_t pid,
					 const char *reason)
{
	struct json_object *p = json_object_new_object();
	struct json_object *target = json_object_new_object();
	bool ok = sw_json_add(target, "pid", json_object_new_int64(pid));
	ok = sw_json_add(p, "target", target) && ok;
	ok = ok && (reason == NULL || reason[0] == '\0' || add_reason(p, reason)) &&
	     sw_json_add(p, "options", options_of(options));
	if (!ok) {
		(void) json_object_put(p); /* NULL is legal */
		p = NULL;
	}
	return p;
}

bool sw_daemon_capture(const struct sw_options *options, pid_t pid, const char *reason,
		       struct sw_daemon_dump *ret, struct sw_complaint *ret_why)
{
	/* A daemon that hangs is waited for once, not for each process of the command. */
	static bool was_late;
	if (was_late && sw_daemon_state(options) == SW_DAEMON_SILENT) {
		const struct sw_error err = {.code = SW_E_TIMEOUT,
					     .message = "the daemon does not answer"};
		sw_complaint_of_error(ret_why, &err, 0);
		return false;
	}
	bool ok = call(options, "io.snapwalk.Capture", parameters_of(options, pid, reason),
		       options->timeout_ms, NULL, ret, ret_why);
	was_late |= !ok && strcmp(ret_why->code, sw_error_wire(SW_E_TIMEOUT)) == 0;
	return ok;
}

bool sw_daemon_profile(const struct sw_options *options, pid_t pid, struct sw_stop_signals *stop,
		       struct sw_daemon_dump *ret, struct sw_complaint *ret_why)
{
	uint32_t duration_ms = options->duration_s * MS_PER_S;
	struct json_object *p = parameters_of(options, pid, NULL);
	if (!sw_json_add(p, "duration_ms", json_object_new_int64(duration_ms)) ||
	    !sw_json_add(p, "rate_hz", json_object_new_int64(options->rate_hz)) ||
	    (stop->fd >= 0 && !sw_json_add(p, "until_eof", json_object_new_boolean(true))) ||
	    (options->mode != SW_RECORD_WALL &&
	     !sw_json_add(p, "mode", json_object_new_string(sw_record_mode_name(options->mode))))) {
		(void) json_object_put(p); /* NULL is legal */
		p = NULL;
	}
	return call(options, "io.snapwalk.Profile", p, duration_ms, stop, ret, ret_why);
}

bool sw_daemon_read(const struct sw_options *options, const char *id, struct sw_daemon_dump *ret,
		    struct sw_complaint *ret_why)
{
	sw_cleanup(sw_free_p) char *copy = strdup(id);
	struct json_object *p = json_object_new_object();
	if (copy != NULL)
		sw_utf8_make_plain(copy); /* no id has other characters */
	if (copy == NULL || !sw_json_add(p, "id", json_object_new_string(copy))) {
		(void) json_object_put(p); /* NULL is legal */
		p = NULL;
	}
	return call(options, "io.snapwalk.Read", p, options->timeout_ms, NULL, ret, ret_why);
}

void sw_daemon_say_coalesced(const char *about, const struct sw_daemon_dump *dump, int64_t begin_ns)
{
	int64_t age_ms = (begin_ns - dump->time_ns) / 1000000;
	char message[128];
	if (!dump->coalesced || dump->time_ns == 0 || age_ms <= 0)
		return;
	(void) snprintf(message, sizeof(message), "this dump was made %d.%d s before you asked",
			(int) (age_ms / 1000), (int) (age_ms % 1000 / 100));
	sw_complain_for(about, message, "coalesced", 0);
}
