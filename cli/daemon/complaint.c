/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The daemon's errors as the same lines that a capture by this command gives. */
#include "daemon/complaint.h"
#include "cleanup.h"
#include "daemon/call.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

static const char interface[] = "io.snapwalk.";
static const char service[] = "org.varlink.service.";

__attribute__((format(printf, 2, 3))) static void say(struct sw_complaint *c, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	(void) vsnprintf(c->message, sizeof(c->message), fmt, ap); /* cut is fine */
	va_end(ap);
}

__attribute__((format(printf, 2, 3))) static void advise(struct sw_complaint *c, const char *fmt,
							 ...)
{
	va_list ap;
	va_start(ap, fmt);
	(void) vsnprintf(c->remedy, sizeof(c->remedy), fmt, ap); /* cut is fine */
	va_end(ap);
}

/* Which rule refused it, and who can do something about it. */
static void not_permitted(struct sw_complaint *c, struct json_object *p)
{
	static const struct {
		const char *rule, *message;
		uint64_t cause;
	} rules[] = {
		{"owner", "it is another user's process", SW_SAID_OF_OWNER},
		{"dumpable", "it protects itself, or has more privileges than you",
		 SW_SAID_OF_GROUP},
		{"deny", "the daemon's configuration forbids it", SW_SAID_OF_DENIED},
		{"kernel", "the kernel refuses the daemon", SW_SAID_OF_KERNEL},
		{"root_only", "that is for root and the daemon's group", SW_SAID_OF_GROUP},
		{"namespace",
		 "you are in another user namespace than the daemon, as in a container",
		 SW_SAID_OF_NAMESPACE},
	};
	const char *rule = sw_json_string(p, "rule");
	c->status = SW_STATUS_DENIED;
	say(c, "the daemon does not permit it (rule %.32s)", rule);
	for (size_t i = 0; i < SW_ARRAY_SIZE(rules); i++)
		if (strcmp(rules[i].rule, rule) == 0) {
			say(c, "%s", rules[i].message);
			advise(c, "%s", sw_remedy(c->code, rules[i].cause));
		}
}

static void busy(struct sw_complaint *c, struct json_object *p)
{
	int64_t ms = sw_json_int(p, "retry_after_ms");
	const char *why = sw_json_string(p, "why");
	say(c, "%s",
	    strcmp(why, "rate") == 0     ? "you asked for many captures in a short time"
	    : strcmp(why, "target") == 0 ? "the process was stopped a lot lately"
					 : "the daemon has much to do");
	if (ms < 0)
		ms = 0;
	advise(c, "try again in %" PRId64 ".%d s", ms / 1000, (int) (ms % 1000 / 100));
}

static void already_traced(struct sw_complaint *c, struct json_object *p)
{
	int64_t tracer = sw_json_int(p, "tracer");
	if (tracer > 0) {
		say(c, "process %" PRId64 " is tracing it", tracer);
		advise(c, "end process %" PRId64 " first", tracer);
	}
}

static void not_traceable(struct sw_complaint *c, struct json_object *p)
{
	static const struct {
		const char *why;
		int code;
	} codes[] = {
		{"kernel_thread", SW_E_KERNEL_THREAD},
		{"zombie", SW_E_ZOMBIE},
		{"self", SW_E_SELF},
		{"architecture", SW_E_ARCH},
	};
	const char *why = sw_json_string(p, "why");
	say(c, "it cannot be traced (%.32s)", why);
	for (size_t i = 0; i < SW_ARRAY_SIZE(codes); i++)
		if (strcmp(codes[i].why, why) == 0) {
			c->code = sw_error_wire(codes[i].code);
			say(c, "%s", sw_error_text(codes[i].code));
			advise(c, "%s", sw_remedy(c->code, 0));
		}
}

static void ambiguous(struct sw_complaint *c, struct json_object *p)
{
	enum { SHOWN = 10 };
	struct json_object *pids = json_object_object_get(p, "pids");
	size_t n = json_object_is_type(pids, json_type_array) ? json_object_array_length(pids) : 0;
	struct sw_text text = {0};
	sw_text_printf(&text, "%zu processes match:", n);
	for (size_t i = 0; i < n && i < SHOWN; i++)
		sw_text_printf(&text, "%s %" PRId64, i > 0 ? "," : "",
			       json_object_get_int64(json_object_array_get_idx(pids, i)));
	say(c, "%s%s", text.failed ? "several processes match" : text.data,
	    n > SHOWN ? ", ..." : "");
	sw_text_deinit(&text);
	c->status = SW_STATUS_USAGE;
}

static void detail(struct sw_complaint *c, struct json_object *p)
{
	const char *text = sw_json_string(p, "detail");
	if (text[0] != '\0')
		say(c, "%s", text);
}

static void timeout(struct sw_complaint *c, struct json_object *p)
{
	const char *what = sw_json_string(p, "what");
	say(c, "the daemon's time limit was reached%s%s", what[0] != '\0' ? ": " : "", what);
}

static void too_large(struct sw_complaint *c, struct json_object *p)
{
	say(c, "the dump has %" PRId64 " bytes, which is too much", sw_json_int(p, "bytes"));
}

static void bad_parameter(struct sw_complaint *c, struct json_object *p)
{
	say(c, "the daemon does not take the parameter %.64s", sw_json_string(p, "parameter"));
}

/* Without a code of ours: code is the word itself. */
static const struct known {
	const char *prefix, *name;
	int error;        /* SW_E_*; 0: code below */
	const char *code; /* static */
	const char *message;
	uint64_t causes;
	void (*fill)(struct sw_complaint *c, struct json_object *parameters);
} known[] = {
	{interface, "NoSuchProcess", SW_E_NO_PROCESS, NULL, NULL, 0, NULL},
	{interface, "NoMatch", SW_E_NOT_FOUND, NULL, "no process matches", 0, detail},
	{interface, "Ambiguous", 0, "usage", NULL, SW_SAID_OF_PROCESSES, ambiguous},
	{interface, "InvalidTarget", SW_E_INVALID, NULL, NULL, 0, detail},
	{interface, "ProcessChanged", SW_E_CHANGED, NULL, NULL, 0, NULL},
	{interface, "NotPermitted", SW_E_NOT_PERMITTED, NULL, NULL, 0, not_permitted},
	{interface, "AlreadyTraced", SW_E_TRACED, NULL, NULL, 0, already_traced},
	{interface, "NotTraceable", 0, "not_traceable", NULL, 0, not_traceable},
	{interface, "StopTimeout", SW_E_STOP_TIMEOUT, NULL, NULL, 0, NULL},
	{interface, "TargetExited", SW_E_EXITED, NULL, NULL, 0, NULL},
	{interface, "Timeout", SW_E_TIMEOUT, NULL, NULL, SW_SAID_OF_ANSWER, timeout},
	{interface, "NoSuchDump", SW_E_NOT_FOUND, NULL,
	 "there is no such dump, or it is not for you", SW_SAID_OF_KEPT, NULL},
	{interface, "PinLimit", SW_E_LIMIT, NULL, NULL, SW_SAID_OF_ANSWER | SW_SAID_OF_KEPT,
	 detail},
	{interface, "TooLarge", SW_E_LIMIT, NULL, NULL, SW_SAID_OF_ANSWER, too_large},
	{interface, "Busy", 0, "busy", NULL, 0, busy},
	{interface, "Unsupported", SW_E_UNSUPPORTED, NULL, NULL, SW_SAID_OF_ANSWER, detail},
	{interface, "Failed", 0, "failed", "the capture failed", 0, detail},
	{service, "PermissionDenied", SW_E_NOT_PERMITTED, NULL, "the daemon does not permit it",
	 SW_SAID_OF_GROUP, NULL},
	{service, "InvalidParameter", SW_E_INVALID, NULL, NULL,
	 SW_SAID_OF_ANSWER | SW_SAID_OF_VERSION, bad_parameter},
	{service, "MethodNotFound", SW_E_UNSUPPORTED, NULL, "the daemon cannot do that",
	 SW_SAID_OF_ANSWER | SW_SAID_OF_VERSION, NULL},
	{service, "MethodNotImplemented", SW_E_UNSUPPORTED, NULL, "the daemon cannot do that",
	 SW_SAID_OF_ANSWER | SW_SAID_OF_VERSION, NULL},
};

static const struct known *find_known(const char *error)
{
	for (size_t i = 0; i < SW_ARRAY_SIZE(known); i++) {
		size_t length = strlen(known[i].prefix);
		if (strncmp(error, known[i].prefix, length) == 0 &&
		    strcmp(error + length, known[i].name) == 0)
			return &known[i];
	}
	return NULL;
}

void sw_complaint_of_answer(struct sw_complaint *ret, const struct sw_varlink_answer *answer)
{
	const struct known *k = find_known(answer->error);
	*ret = (struct sw_complaint){.code = "daemon", .status = SW_STATUS_NOTHING};
	if (k == NULL) {
		say(ret, "the daemon says %.128s", answer->error);
		return;
	}
	struct sw_error err = {.code = k->error};
	ret->code = k->error != 0 ? sw_error_wire(k->error) : k->code;
	if (k->error != 0)
		ret->status = sw_status_of(&err);
	say(ret, "%s", k->message != NULL ? k->message : sw_error_text(k->error));
	advise(ret, "%s", sw_remedy(ret->code, k->causes));
	if (k->fill != NULL)
		k->fill(ret, answer->parameters);
}

void sw_complaint_of_error(struct sw_complaint *ret, const struct sw_error *err, uint64_t causes)
{
	*ret = (struct sw_complaint){.code = sw_error_wire(err->code), .status = sw_status_of(err)};
	say(ret, "%s", err->message);
	advise(ret, "%s", sw_remedy(ret->code, SW_SAID_OF_DAEMON | causes));
}

int sw_complain_about(const char *about, const struct sw_complaint *complaint)
{
	sw_complain(about, complaint->message, complaint->code, complaint->remedy);
	return complaint->status;
}
