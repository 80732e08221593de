/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/event_word.h"
#include "common/option_values.h"
#include "cleanup.h"
#include "parts.h"

#include <snapwalk/event_text.h>
#include <snapwalk/nearest.h>
#include <snapwalk/probes.h>
#include <snapwalk/protocol.h>
#include <stdlib.h>
#include <string.h>

enum { FAULTS_EVERY = 16 /* each one of a program that maps much would cost it some per cent */ };

/* ---- parse ------------------------------------------------------------------------------------ */

/* "fd=2", "arg1=0x10" */
static bool take_test(struct sw_options *o, const char *word, struct sw_usage *usage)
{
	struct sw_event_test test = {0};
	const char *value = strchr(word, '=');
	size_t length = value != NULL ? (size_t) (value - word) : 0;
	char *end = NULL;
	if (length == 2 && strncmp(word, "fd", 2) == 0)
		test.is_int = true;
	else if (length == 4 && strncmp(word, "arg", 3) == 0 && word[3] >= '0' &&
		 word[3] < '0' + SW_EVENT_ARGUMENTS)
		test.argument = (unsigned) (word[3] - '0');
	else
		return sw_usage_fail(usage, "give fd=N, or arg0=N to arg5=N",
				     "'%.40s' is no condition", word);
	errno = 0;
	test.value = strtoull(value + 1, &end, 0);
	if (end == value + 1 || *end != '\0' || errno != 0)
		return sw_usage_fail(usage, "give a number", "'%.40s' has none", word);
	/* -100 is AT_FDCWD. The upper half of the argument would not be looked at. */
	const int64_t number = (int64_t) test.value;
	if (test.is_int && (number > UINT32_MAX || number < INT32_MIN))
		return sw_usage_fail(usage, "give a smaller number",
				     "'%.40s': no descriptor has that number", word);
	if (o->event.n_tests == SW_EVENT_TESTS_MAX)
		return sw_usage_fail(usage, "give fewer", "more than %d conditions",
				     SW_EVENT_TESTS_MAX);
	o->event.tests[o->event.n_tests++] = test;
	return true;
}

static bool no_such_call(const char *name, struct sw_usage *usage)
{
	enum { NUMBERS_END = 1024 }; /* of both machines */
	char remedy[sizeof(usage->remedy)] = "see syscalls(2)";
	unsigned least = SW_NOT_NEAR;
	for (int64_t n = 0; n < NUMBERS_END; n++) {
		const char *known = sw_call_name(n, false);
		unsigned mistakes = known != NULL ? sw_mistakes(name, known) : SW_NOT_NEAR;
		if (mistakes >= least)
			continue;
		least = mistakes;
		(void) snprintf(remedy, sizeof(remedy), "did you mean 'syscall:%s'?", known);
	}
	return sw_usage_fail(usage, remedy, "there is no such system call");
}

static bool take_call(struct sw_options *o, const char *name, size_t length, struct sw_usage *usage)
{
	if (length == 0 || length >= sizeof(o->event_call))
		return sw_usage_fail(usage, "give syscall:NAME, as in syscall:openat",
				     "no system call is named");
	memcpy(o->event_call, name, length);
	o->event_call[length] = '\0';
	o->event_name = o->event_call;
	return sw_event_set_call(&o->event, o->event_call) || no_such_call(o->event_call, usage);
}

static const struct {
	const char *word;
	enum sw_event_what what;
} known_events[] = {{"death", SW_EVENT_DEATH},
		    {"thread", SW_EVENT_NEW_THREADS},
		    {"process", SW_EVENT_NEW_PROCESSES},
		    {"blocked", SW_EVENT_BLOCKED},
		    {"fault", SW_EVENT_FAULTS}};

/* "LIB:SYMBOL" or "SYMBOL", in which "::" is no colon: a name of C++. */
static bool take_function(struct sw_options *o, const char *text, struct sw_usage *usage)
{
	size_t length = 0;
	o->event.what = SW_EVENT_FUNCTION;
	if (!sw_probe_split(text, &length, &o->event_name))
		return sw_usage_fail(usage, "give func:SYMBOL of the program, or func:LIB:SYMBOL",
				     "no function is named");
	o->event_module = length > 0 ? strndup(text, length) : NULL;
	if (length > 0 && o->event_module == NULL)
		return sw_usage_fail_nomem(usage);
	return true;
}

/* "LIB:PROBE" or "PROBE"; without PROBE it is asked which there are. */
static bool take_declared(struct sw_options *o, const char *text, struct sw_usage *usage)
{
	const char *colon = strchr(text, ':');
	o->event_declared = true;
	o->list = text[0] == '\0' || (colon != NULL && colon[1] == '\0');
	if (!o->list)
		return take_function(o, text, usage);
	o->event.what = SW_EVENT_FUNCTION;
	o->event_name = "";
	o->event_module = colon != NULL ? strndup(text, (size_t) (colon - text)) : NULL;
	if (colon != NULL && o->event_module == NULL)
		return sw_usage_fail_nomem(usage);
	return true;
}

/* The word that may be meant is said: "syscal:open", "openat" without its kind, "deth". */
static bool no_such_event(const char *text, struct sw_usage *usage)
{
	static const char *const kinds[] = {"syscall", "func", "usdt"};
	static const char *const others[] = {"exec", "mmap"};
	char remedy[sizeof(usage->remedy)] = "see 'snapwalk help on'", head[16];
	const char *colon = strchr(text, ':'), *near = NULL;
	if (text[0] != '\0' && text[strspn(text, "0123456789")] == '\0')
		return sw_usage_fail(usage,
				     "give the event first, as in snapwalk on syscall:openat 4242",
				     "it is no event");
	if (colon != NULL) {
		(void) snprintf(head, sizeof(head), "%.*s", (int) (colon - text), text);
		for (size_t i = 0; near == NULL && i < SW_ARRAY_SIZE(kinds); i++)
			near = sw_is_near(head, kinds[i]) ? kinds[i] : NULL;
		if (near != NULL)
			(void) snprintf(remedy, sizeof(remedy), "did you mean '%s%.80s'?", near,
					colon);
		return sw_usage_fail(usage, remedy, "there is no such event");
	}
	for (size_t i = 0; near == NULL && i < SW_ARRAY_SIZE(known_events); i++)
		near = sw_is_near(text, known_events[i].word) ? known_events[i].word : NULL;
	for (size_t i = 0; near == NULL && i < SW_ARRAY_SIZE(others); i++)
		near = sw_is_near(text, others[i]) ? others[i] : NULL;
	if (near != NULL)
		(void) snprintf(remedy, sizeof(remedy), "did you mean '%s'?", near);
	if (sw_call_number(text, false) >= 0)
		(void) snprintf(remedy, sizeof(remedy), "did you mean 'syscall:%.80s'?", text);
	return sw_usage_fail(usage, remedy, "there is no such event");
}

bool sw_event_parse(struct sw_options *o, const char *text, struct sw_usage *usage)
{
	static const char prefix[] = "syscall:", function_prefix[] = "func:",
			  declared_prefix[] = "usdt:";
	(void) snprintf(usage->about, sizeof(usage->about), "%s", text);
	o->event = (struct sw_event_options){.call = -1, .call_32 = -1};
	for (size_t i = 0; i < SW_ARRAY_SIZE(known_events); i++)
		if (strcmp(text, known_events[i].word) == 0) {
			o->event.what = known_events[i].what;
			o->event_name = text;
			return true;
		}
	/* Other words for system calls. */
	if (strcmp(text, "exec") == 0)
		return take_call(o, "execve", strlen("execve"), usage);
	if (strcmp(text, "mmap") == 0)
		return take_call(o, text, strlen(text), usage);
	if (sw_begins_with(text, function_prefix))
		return take_function(o, text + strlen(function_prefix), usage);
	if (sw_begins_with(text, declared_prefix))
		return take_declared(o, text + strlen(declared_prefix), usage);
	if (!sw_begins_with(text, prefix))
		return no_such_event(text, usage);
	const char *name = text + strlen(prefix);
	size_t length = strcspn(name, " ");
	if (!take_call(o, name, length, usage))
		return false;
	for (const char *at = name + length; at[0] != '\0';) {
		char word[64];
		at += strspn(at, " ");
		size_t n = strcspn(at, " ");
		if (n >= sizeof(word))
			return sw_usage_fail(usage, "give fd=N, or arg0=N to arg5=N",
					     "a condition is too long");
		if (n == 0)
			break;
		memcpy(word, at, n);
		word[n] = '\0';
		if (!take_test(o, word, usage))
			return false;
		at += n;
	}
	return true;
}

void sw_event_finish(struct sw_options *o)
{
	o->event.at_return = o->event_return || o->slower_ns > 0;
	o->event.slower_ns = o->slower_ns;
	if (o->event.what == SW_EVENT_FAULTS)
		o->event.every = o->every > 0 ? o->every : FAULTS_EVERY;
	if (o->larger_bytes > 0) { /* the length */
		o->event.least_of = 2;
		o->event.least = o->larger_bytes;
	}
	o->event.failed = o->errno_given;
	o->event.error = o->errno_number;
	if (o->event.failed) /* which only its return tells */
		o->event.at_begin = false;
	if (o->snapshot.stack_bytes != 0)
		o->event.stack_bytes = o->snapshot.stack_bytes;
}
