/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rules/on_event.h"
#include "rules/values.h"
#include "cleanup.h"
#include "parts.h"

#include <snapwalk/event_text.h>
#include <snapwalk/probes.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_MAX = SW_RULE_FUNCTION_MAX };

static const struct {
	const char *word;
	enum sw_event_what what;
} known[] = {{"death", SW_EVENT_DEATH},
	     {"thread", SW_EVENT_NEW_THREADS},
	     {"process", SW_EVENT_NEW_PROCESSES},
	     {"blocked", SW_EVENT_BLOCKED}};

static const char *function_take(const char *text, bool is_declared, struct sw_rule_event *e)
{
	size_t length;
	const char *name;
	if (!sw_probe_split(text, &length, &name))
		return "no function: func:SYMBOL of the program, func:LIB:SYMBOL, or "
		       "usdt:LIB:PROBE";
	e->options.what = SW_EVENT_FUNCTION;
	e->is_declared = is_declared;
	(void) snprintf(e->function, sizeof(e->function), "%s", text); /* fits */
	(void) snprintf(e->name, sizeof(e->name), "%.31s", name);      /* cut is fine */
	return NULL;
}

static const char *event_take(const char *word, struct sw_rule_event *e)
{
	static const char prefix[] = "syscall:";
	e->options = (struct sw_event_options){.call = -1, .call_32 = -1};
	for (size_t i = 0; i < SW_ARRAY_SIZE(known); i++)
		if (strcmp(known[i].word, word) == 0) {
			e->options.what = known[i].what;
			(void) snprintf(e->name, sizeof(e->name), "%.31s", word); /* fits */
			return NULL;
		}
	if (sw_begins_with(word, "func:"))
		return function_take(word + strlen("func:"), false, e);
	if (sw_begins_with(word, "usdt:"))
		return function_take(word + strlen("usdt:"), true, e);
	if (!sw_begins_with(word, prefix))
		return "no such event: syscall:NAME, func:SYMBOL, usdt:PROBE, death, thread, "
		       "process or "
		       "blocked";
	const char *name = word + strlen(prefix);
	if (strlen(name) >= sizeof(e->name) || !sw_event_set_call(&e->options, name))
		return "no such system call";
	(void) snprintf(e->name, sizeof(e->name), "%.31s", name); /* fits */
	return NULL;
}

static const char *test_take(const char *word, const char *value, struct sw_event_options *o)
{
	struct sw_event_test test = {0};
	char *end = NULL;
	if (sw_begins_with(word, "fd="))
		test.is_int = true;
	else if (value == word + 5 && sw_begins_with(word, "arg") && word[3] >= '0' &&
		 word[3] < '0' + SW_EVENT_ARGUMENTS)
		test.argument = (unsigned) (word[3] - '0');
	else
		return "no such condition: errno=NAME, failed, fd=N, arg0=N to arg5=N";
	if (value[0] < '0' || value[0] > '9')
		return "a condition without a number";
	errno = 0;
	test.value = strtoull(value, &end, 0);
	if (*end != '\0' || errno != 0)
		return "a condition without a number";
	if (test.is_int && test.value > UINT32_MAX)
		return "no descriptor has that number"; /* its upper half would not be looked at */
	if (o->n_tests == SW_EVENT_TESTS_MAX)
		return "too many conditions";
	o->tests[o->n_tests++] = test;
	return NULL;
}

static const char *function_condition_take(const char *word, struct sw_rule_event *e)
{
	struct sw_event_options *o = &e->options;
	uint32_t ms = 0;
	if (e->is_declared)
		return "this event has no conditions";
	if (strcmp(word, "return") == 0) {
		o->at_return = true;
		return NULL;
	}
	if (!sw_begins_with(word, "slower=") || o->slower_ns != 0 ||
	    !sw_rule_ms_parse(word + strlen("slower="), &ms) || ms == 0)
		return "func has two conditions: return, slower=SECONDS";
	o->at_return = true;
	o->slower_ns = ms * INT64_C(1000000);
	return NULL;
}

static const char *condition_take(const char *word, struct sw_event_options *o)
{
	const char *equals = strchr(word, '='), *value = equals != NULL ? equals + 1 : "";
	uint32_t ms = 0;
	if (o->what == SW_EVENT_BLOCKED) {
		if (!sw_begins_with(word, "slower=") || o->slower_ns != 0 ||
		    !sw_rule_ms_parse(value, &ms) || ms == 0)
			return "blocked has one condition: slower=SECONDS";
		o->slower_ns = ms * INT64_C(1000000);
		return NULL;
	}
	if (o->what != SW_EVENT_CALL)
		return "this event has no conditions";
	if (strcmp(word, "failed") != 0 && !sw_begins_with(word, "errno="))
		return test_take(word, value, o);
	if (equals != NULL && o->error != 0)
		return "two errors, of which a call has one";
	if (equals != NULL && (o->error = sw_errno_number(value)) == 0)
		return "no such error";
	if (o->at_begin)
		return "this call does not return";
	o->failed = true;
	return NULL;
}

bool sw_rule_event_parse(const char *value, struct sw_rule_event *ret, const char **ret_why)
{
	static const char blanks[] = " \t";
	struct sw_rule_event e = {0};
	const char *why = NULL;
	size_t n = 0;
	for (const char *s = value + strspn(value, blanks); *s != '\0' && why == NULL; n++) {
		char word[WORD_MAX];
		size_t length = strcspn(s, blanks);
		if (length >= sizeof(word)) {
			why = "a word is too long";
			break;
		}
		memcpy(word, s, length);
		word[length] = '\0';
		why = n == 0                                ? event_take(word, &e)
		      : e.options.what == SW_EVENT_FUNCTION ? function_condition_take(word, &e)
							    : condition_take(word, &e.options);
		s += length;
		s += strspn(s, blanks);
	}
	if (why == NULL && n == 0)
		why = "no event";
	if (why == NULL && e.options.what == SW_EVENT_BLOCKED && e.options.slower_ns == 0)
		why = "blocked has one condition: slower=SECONDS";
	*ret_why = why;
	if (why == NULL)
		*ret = e;
	return why == NULL;
}
