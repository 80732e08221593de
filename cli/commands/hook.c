/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Called by a monitoring system: finds out what it means, and captures by the daemon, or by itself
 * when none listens and there is a place for the dump.
 */
#include "commands/commands.h"
#include "daemon/call.h"
#include "daemon/dump.h"
#include "daemon/complaint.h"
#include "daemon/first.h"
#include "run/deliver.h"
#include "errors.h"
#include "hook/request.h"
#include "hook/kinds.h"
#include "run/obtain.h"
#include "utf8.h"

#include <snapwalk/clock.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>

enum {
	HOOK_TARGETS_MAX = 8,    /* a name may mean a hundred processes */
	HOOK_WALK_MS = 2000,     /* at most; less when --timeout is short */
	HOOK_TRIGGER_MS = 60000, /* --timeout ends it before */
};

/* A call of the command. */
struct hooker {
	const char *kind;
	struct sw_options options; /* a copy: its times are those of one capture */
	const char *reason;
	bool by_daemon, into_directory, keeps; /* keeps: -o is given */
	bool to_stdout;
	enum sw_daemon_state daemon; /* as --via auto wants to know it */
	struct sw_session *session;  /* owned; when not by_daemon */
	struct sw_delivery delivery; /* into a file */
};

/* Only async-signal-safe functions. Ending here harms nobody: a capture may end at any instant, and
 * an output that has no name yet is gone. */
static void on_alarm(int signal_number)
{
	static const char line[] = "snapwalk: hook: the time limit was reached (timeout): "
				   "allow more with --timeout\n";
	(void) signal_number;
	(void) !write(STDERR_FILENO, line, sizeof(line) - 1); /* nowhere left to complain */
	_exit(SW_STATUS_NOTHING);
}

/* From now on: reading standard input may hang, too. */
static void limit_time(uint32_t timeout_ms)
{
	struct sigaction action = {.sa_handler = on_alarm};
	struct itimerval t = {
		.it_value = {.tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000}};
	(void) sigaction(SIGALRM, &action, NULL); /* fail only for bad arguments */
	(void) setitimer(ITIMER_REAL, &t, NULL);
}

static const char *environment(const char *name)
{
	return getenv(name);
}

/* ---- what came of it ---------------------------------------------------------------------- */

/* A line for the monitoring system's log. */
__attribute__((format(printf, 1, 2))) static void say(const char *fmt, ...)
{
	struct sw_text line = {0};
	char text[1024];
	va_list ap;
	va_start(ap, fmt);
	(void) vsnprintf(text, sizeof(text), fmt, ap); /* cut is fine */
	va_end(ap);
	sw_utf8_make_plain(text);
	sw_text_printf(&line, "%s\n", text);
	if (!line.failed)
		(void) fwrite(line.data, 1, line.size, stdout); /* main() checks at the end */
	sw_text_deinit(&line);
}

/* The result of a capture, by whomever. */
struct captured {
	const char *id, *comm;
	const struct sw_report *report; /* as for sw_delivery_put() */
	const char *json;
	size_t json_size;
};

/* DIR/ID.json; the id comes from the daemon and must not leave the directory. */
static char *file_name(const struct hooker *h, const char *dump_id)
{
	static const char *const suffixes[] = {[SW_FORMAT_TEXT] = "txt",
					       [SW_FORMAT_JSON] = "json",
					       [SW_FORMAT_FOLDED] = "folded",
					       [SW_FORMAT_HTML] = "html"};
	char id[128], *path;
	(void) snprintf(id, sizeof(id), "%s", dump_id);
	for (char *c = id; *c != '\0'; c++)
		if (strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
			   *c) == NULL)
			*c = '_';
	size_t length = strlen(h->options.output);
	while (length > 1 && h->options.output[length - 1] == '/')
		length--;
	if (asprintf(&path, "%.*s/%s.%s", (int) length, h->options.output, id,
		     suffixes[h->options.format]) < 0)
		return NULL;
	return path;
}

static bool is_written(int status)
{
	return status == SW_STATUS_COMPLETE || status == SW_STATUS_MISSING;
}

static int keep_in_directory(struct hooker *h, const struct sw_subject *subject,
			     const struct captured *c)
{
	struct sw_delivery delivery;
	struct sw_error err = {0};
	sw_cleanup(sw_free_p) char *path = file_name(h, c->id);
	if (path == NULL) {
		(void) sw_fail_nomem(&err);
		return sw_complain_error(h->options.output, &err);
	}
	if (sw_delivery_begin(&delivery, &h->options, h->options.format, path, &err) < 0)
		return sw_complain_error(path, &err);
	int status = sw_delivery_put(&delivery, subject->name, c->report, c->json, c->json_size);
	status = sw_delivery_end(&delivery, status);
	if (is_written(status))
		say("captured %d %s: %s", (int) subject->pid, c->comm, path);
	return status;
}

static int keep(struct hooker *h, const struct sw_subject *subject, const struct captured *c)
{
	if (h->into_directory)
		return keep_in_directory(h, subject, c);
	int status = sw_delivery_put(&h->delivery, subject->name, c->report, c->json, c->json_size);
	if (is_written(status) && !h->to_stdout)
		say("captured %d %s: %s", (int) subject->pid, c->comm, h->options.output);
	return status;
}

/* Without -o: the daemon has it. */
static int say_kept(const struct sw_subject *subject, const struct sw_daemon_dump *dump,
		    bool verbose)
{
	if (dump->report != NULL && !dump->complete)
		sw_complain_warnings(subject->name, dump->report, 0, verbose);
	if (!dump->stored) {
		sw_complain_for(subject->name, "the daemon did not keep the dump", "not_stored", 0);
		return SW_STATUS_MISSING;
	}
	say("captured %d %s: %s", (int) subject->pid, dump->comm, dump->id);
	return dump->complete ? SW_STATUS_COMPLETE : SW_STATUS_MISSING;
}

/* ---- captures ----------------------------------------------------------------------------- */

static int capture_by_daemon(struct hooker *h, const struct sw_subject *subject)
{
	struct sw_daemon_dump dump;
	struct sw_complaint why;
	if (!sw_daemon_capture(&h->options, subject->pid, h->reason, &dump, &why))
		return sw_complain_about(subject->name, &why);
	struct captured c = {.id = dump.id,
			     .comm = dump.comm,
			     .report = dump.report,
			     .json = dump.text,
			     .json_size = dump.size};
	int status = h->keeps ? keep(h, subject, &c) : say_kept(subject, &dump, h->options.verbose);
	sw_daemon_dump_deinit(&dump);
	return status;
}

static int capture_directly(struct hooker *h, const struct sw_subject *subject)
{
	struct sw_error err = {0};
	sw_cleanup(sw_obtained_deinit) struct sw_obtained got = {0};
	const struct sw_delivery rendering = {.options = &h->options,
					      .format = h->options.format,
					      .output.path = h->options.output};
	const struct sw_pipeline_options how = sw_obtain_options(&h->options, sw_clock_ns());
	if (sw_obtain_apart(h->session, subject, &how, &rendering, &got, &err) < 0)
		return sw_complain_error(subject->name, &err);
	if (got.text.size == 0)
		return got.status;
	struct captured c = {.id = got.id,
			     .comm = got.comm,
			     .json = got.text.data,
			     .json_size = got.text.size};
	return sw_status_worse(got.status, keep(h, subject, &c));
}

static int capture_all(struct hooker *h, const struct sw_selection *selection)
{
	int status = SW_STATUS_COMPLETE;
	size_t n = selection->n_subjects;
	for (size_t i = 0; i < n && i < HOOK_TARGETS_MAX; i++) {
		const struct sw_subject *subject = &selection->subjects[i];
		int one =
			h->by_daemon ? capture_by_daemon(h, subject) : capture_directly(h, subject);
		status = sw_status_worse(status, one);
	}
	if (n > HOOK_TARGETS_MAX) {
		char message[64];
		(void) snprintf(message, sizeof(message), "%zu more processes match",
				n - HOOK_TARGETS_MAX);
		sw_complain_for(h->kind, message, "limit", SW_SAID_OF_HOOK);
		status = sw_status_worse(status, SW_STATUS_MISSING);
	}
	return status;
}

/* Prepare what is needed before a target is touched. */
static int prepare(struct hooker *h)
{
	struct sw_error err = {0};
	struct stat st;
	const char *path = h->options.output;
	h->keeps = path != NULL;
	h->to_stdout = path != NULL && strcmp(path, "-") == 0;
	h->into_directory = h->keeps && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
	if (!h->by_daemon && !h->keeps) {
		char buffer[SW_SOCKET_PATH_SIZE];
		bool direct = h->options.via == SW_VIA_DIRECT;
		bool silent = h->daemon == SW_DAEMON_SILENT;
		if (direct)
			(void) sw_fail(&err, SW_E_NOT_FOUND, "--via direct, and there is no -o");
		else
			(void) sw_fail(&err, silent ? SW_E_TIMEOUT : SW_E_NOT_FOUND,
				       "%s on %s, and there is no -o",
				       silent ? "the daemon does not answer" : "nobody listens",
				       sw_daemon_path(&h->options, buffer));
		sw_complain_for(h->kind, err.message, sw_error_wire(err.code),
				SW_SAID_OF_HOOK | (direct ? 0 : SW_SAID_OF_DAEMON));
		return SW_STATUS_NOTHING;
	}
	if (h->keeps && !h->into_directory &&
	    sw_delivery_begin(&h->delivery, &h->options, h->options.format, path, &err) < 0)
		return sw_complain_error(sw_delivery_name(&h->delivery), &err);
	if (!h->by_daemon && sw_session_create(&h->session, &err) < 0)
		return sw_complain_error("snapwalk", &err);
	return SW_STATUS_COMPLETE;
}

static int capture(struct hooker *h)
{
	struct sw_selection selection;
	struct sw_error err = {0};
	const char *about = "";
	int status;
	if (sw_select(&h->options, &selection, &about, &err) < 0)
		status = sw_complain_error(about, &err);
	else {
		status = prepare(h);
		if (status == SW_STATUS_COMPLETE)
			status = capture_all(h, &selection);
		if (h->keeps && !h->into_directory)
			status = sw_delivery_end(&h->delivery, status);
		sw_session_destroy(h->session);
	}
	sw_selection_deinit(&selection);
	return status;
}

/* ---- alerts ------------------------------------------------------------------------------- */

static bool take_trigger(void *arg, struct json_object *parameters, struct sw_complaint *why)
{
	struct json_object *ids = json_object_object_get(parameters, "ids");
	struct json_object *skipped = json_object_object_get(parameters, "skipped");
	bool any = json_object_is_type(ids, json_type_array);
	(void) arg;
	(void) why;
	for (size_t i = 0; any && i < json_object_array_length(ids); i++)
		say("captured: %s", json_object_get_string(json_object_array_get_idx(ids, i)));
	any = json_object_is_type(skipped, json_type_array);
	for (size_t i = 0; any && i < json_object_array_length(skipped); i++) {
		struct json_object *one = json_object_array_get_idx(skipped, i);
		const char *rule = sw_json_string(one, "rule");
		say("skipped: %s%s%s%s", rule[0] != '\0' ? "rule " : "", rule,
		    rule[0] != '\0' ? ": " : "", sw_json_string(one, "reason"));
	}
	return false;
}

static int trigger_all(struct hooker *h, const struct sw_alerts *alerts)
{
	int status = SW_STATUS_COMPLETE;
	if (h->options.via == SW_VIA_DIRECT || h->options.output != NULL) {
		sw_complain_for(h->kind, "the daemon captures by its rules and keeps the dumps",
				"usage", SW_SAID_OF_HOOK | SW_SAID_OF_KEPT);
		return SW_STATUS_USAGE;
	}
	for (size_t i = 0; i < alerts->n_alerts; i++) {
		const struct sw_alert *alert = &alerts->alerts[i];
		struct sw_complaint why;
		if (alert->firing && !sw_daemon_call(&h->options, "io.snapwalk.Trigger",
						     sw_alert_trigger(alert, "alertmanager"), false,
						     HOOK_TRIGGER_MS, take_trigger, NULL, &why))
			status = sw_status_worse(status, sw_complain_about(h->kind, &why));
	}
	return status;
}

/* ---- all ---------------------------------------------------------------------------------- */

static int act(struct hooker *h, struct sw_hook_request *request)
{
	if (request->idle) {
		say("nothing to do: %s", request->why);
		return SW_STATUS_COMPLETE;
	}
	if (request->has_alerts)
		return trigger_all(h, &request->alerts);
	/* A longer text than the message may have been cut within a character. */
	sw_utf8_make_plain(request->why);
	h->reason = h->options.reason != NULL ? h->options.reason : request->why;
	h->options.reason = h->reason;
	if (request->has_want) {
		h->options.wants = &request->want;
		h->options.n_wants = 1;
	}
	h->daemon = h->options.via == SW_VIA_AUTO ? sw_daemon_state(&h->options) : SW_DAEMON_ABSENT;
	h->by_daemon = h->options.via != SW_VIA_DIRECT &&
		       (h->options.via == SW_VIA_DAEMON || h->daemon == SW_DAEMON_ANSWERS);
	return capture(h);
}

static int complain_input(const char *kind, const struct sw_error *err)
{
	if (err->code != SW_E_INVALID)
		return sw_complain_error(kind, err);
	sw_complain_for(kind, err->message, "usage", SW_SAID_OF_HOOK);
	return SW_STATUS_USAGE;
}

static int run(struct hooker *h, const struct sw_hook_kind *kind, const struct sw_options *options)
{
	struct sw_text text = {0};
	struct sw_hook_request request = {0};
	struct sw_error err = {0};
	int r = 0;
	if (kind->reads_stdin) {
		r = sw_text_read_fd(&text, STDIN_FILENO, SW_ALERTS_BYTES_MAX);
		if (r < 0)
			(void) sw_fail(&err, -r, "standard input: %s", sw_error_text(r));
	}
	struct sw_hook_input input = {.environment = environment,
				      .words = options->words + 1,
				      .n_words = options->n_words - 1,
				      .text = text.data != NULL ? text.data : "",
				      .size = text.size,
				      .states = options->states,
				      .soft = options->soft,
				      .has_target = options->n_wants > 0};
	if (r == 0)
		r = kind->read(&input, &request, &err);
	int status = r < 0 ? complain_input(h->kind, &err) : act(h, &request);
	sw_hook_request_deinit(&request);
	sw_text_deinit(&text);
	return status;
}

int sw_cmd_hook(const struct sw_options *options)
{
	struct hooker h = {.kind = options->words[0], .options = *options};
	const struct sw_hook_kind *kind = sw_hook_find(h.kind);
	if (kind == NULL) {
		sw_complain_for(h.kind, "no kind of hook", "usage", SW_SAID_OF_HOOK);
		return SW_STATUS_USAGE;
	}
	limit_time(options->timeout_ms);
	uint32_t walk_ms = options->timeout_ms / 4 * 3;
	h.options.whole_ms = walk_ms + 1;
	h.options.timeout_ms = walk_ms < HOOK_WALK_MS ? walk_ms + 1 : HOOK_WALK_MS;
	if (!options->format_given)
		h.options.format = SW_FORMAT_JSON;
	return run(&h, kind, options);
}
