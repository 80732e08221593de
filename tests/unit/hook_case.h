/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_TESTS_HOOK_CASE_H
#define SW_TESTS_HOOK_CASE_H

#include "hook/request.h"
#include "hook/kinds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

/* The input of a monitoring system: "NAME=VALUE" strings, words behind KIND, standard input. */
struct hook_case {
	const char *variables[8]; /* NULL-terminated */
	const char *words[6];     /* NULL-terminated */
	const char *text;         /* NULL: nothing */
	const char *states;
	bool soft, has_target;
};

/* sw_hook_input has no argument for its lookup: a program's environment is global, too. */
static const struct hook_case *hook_case_now;

static inline const char *hook_case_variable(const char *name)
{
	for (size_t i = 0; hook_case_now->variables[i] != NULL; i++) {
		const char *v = hook_case_now->variables[i];
		size_t length = strlen(name);
		if (strncmp(v, name, length) == 0 && v[length] == '=')
			return v + length + 1;
	}
	return NULL;
}

static inline int hook_case_run(const struct hook_case *c, sw_hook_fn *hook,
				struct sw_hook_request *ret, struct sw_error *err)
{
	struct sw_hook_input input = {.environment = hook_case_variable,
				      .words = c->words,
				      .text = c->text != NULL ? c->text : "",
				      .states = c->states,
				      .soft = c->soft,
				      .has_target = c->has_target};
	while (c->words[input.n_words] != NULL)
		input.n_words++;
	input.size = strlen(input.text);
	hook_case_now = c;
	return hook(&input, ret, err);
}

/* Check that the hook wants this target ("pid:7", "comm:x", "unit:u"; "none": the command line's),
 * because of why. */
static inline void hook_case_acts(struct hook_case c, sw_hook_fn *hook, const char *target,
				  const char *why)
{
	struct sw_hook_request request;
	struct sw_error err = {0};
	char got[300] = "none";
	if (hook_case_run(&c, hook, &request, &err) < 0)
		fail_msg("%s", err.message);
	assert_false(request.idle);
	if (request.has_want)
		(void) snprintf(got, sizeof(got), "%s:%s",
				request.want.kind == SW_WANT_PID    ? "pid"
				: request.want.kind == SW_WANT_COMM ? "comm"
				: request.want.kind == SW_WANT_UNIT ? "unit"
								    : "?",
				request.want.text);
	assert_string_equal(got, target);
	assert_string_equal(request.why, why);
	sw_hook_request_deinit(&request);
}

static inline void hook_case_idles(struct hook_case c, sw_hook_fn *hook, const char *why)
{
	struct sw_hook_request request;
	struct sw_error err = {0};
	if (hook_case_run(&c, hook, &request, &err) < 0)
		fail_msg("%s", err.message);
	assert_true(request.idle);
	assert_string_equal(request.why, why);
	sw_hook_request_deinit(&request);
}

static inline void hook_case_fails(struct hook_case c, sw_hook_fn *hook, int code,
				   const char *message)
{
	struct sw_hook_request request;
	struct sw_error err = {0};
	assert_int_equal(hook_case_run(&c, hook, &request, &err), -code);
	assert_string_equal(err.message, message);
	sw_hook_request_deinit(&request);
}

#endif
