/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The input of 'snapwalk hook', as monitoring systems send it. In a file: the kind's number, bits
 * (1 --soft, 2 --states, 4 a target is named), then texts that end with a NUL: --states, six words,
 * eight NAME=VALUE of the environment; the rest is standard input.
 */
#include "fuzz.h"
#include "hook/kinds.h"
#include "cleanup.h"

#include <string.h>

enum { WORDS = 6, VARIABLES = 8, SOFT = 1, STATES = 2, TARGET = 4 };

static const char *variables[VARIABLES];

static const char *variable(const char *name)
{
	size_t length = strlen(name);
	for (size_t i = 0; i < VARIABLES; i++)
		if (variables[i] != NULL && strncmp(variables[i], name, length) == 0 &&
		    variables[i][length] == '=')
			return variables[i] + length + 1;
	return NULL;
}

/* The next text; "" when there is none. */
static const char *next(const char **at, const char *end)
{
	const char *text = *at;
	if (text >= end)
		return "";
	*at += strnlen(text, (size_t) (end - text)) + 1; /* a NUL follows the last one */
	return text;
}

static void request_check(const struct sw_hook_input *input, const struct sw_hook_request *r)
{
	check(memchr(r->why, '\0', sizeof(r->why)) != NULL);
	check(!r->has_want || !input->has_target);
	if (r->has_want && r->want.kind != SW_WANT_PID)
		check(r->want.text == r->target &&
		      memchr(r->target, '\0', sizeof(r->target)) != NULL && r->target[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"monit", "alertmanager", "nagios", "collectd",
					    "systemd"};
	const char *words[WORDS];
	if (size < 2)
		return 0;
	sw_cleanup(sw_free_p) char *text = malloc(size - 2 + 1);
	if (text == NULL)
		return 0;
	memcpy(text, data + 2, size - 2);
	text[size - 2] = '\0';
	const char *at = text, *end = text + (size - 2);
	const char *states = next(&at, end);
	size_t n_words = 0;
	for (size_t i = 0; i < WORDS; i++) {
		words[i] = next(&at, end);
		if (words[i][0] != '\0')
			n_words = i + 1;
	}
	for (size_t i = 0; i < VARIABLES; i++)
		variables[i] = next(&at, end);
	if (at > end)
		at = end;
	const struct sw_hook_input input = {.environment = variable,
					    .words = words,
					    .n_words = n_words,
					    .text = at,
					    .size = (size_t) (end - at),
					    .states = data[1] & STATES ? states : NULL,
					    .soft = data[1] & SOFT,
					    .has_target = data[1] & TARGET};
	const struct sw_hook_kind *kind = sw_hook_find(names[data[0] % SW_ARRAY_SIZE(names)]);
	struct sw_hook_request request;
	struct sw_error err = {0};
	check(kind != NULL);
	int r = kind->read(&input, &request, &err);
	check(r == 0 || (r < 0 && err.code == -r && err.message[0] != '\0'));
	if (r == 0)
		request_check(&input, &request);
	sw_hook_request_deinit(&request);
	return 0;
}
