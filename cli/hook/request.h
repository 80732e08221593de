/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_HOOK_REQUEST_H
#define SW_CLI_HOOK_REQUEST_H

#include "common/options.h"

#include <snapwalk/alerts.h>

/*
 * The message of a monitoring system that calls 'snapwalk hook KIND', and its meaning. Each KIND
 * has a file KIND.c; these functions look at their input only.
 */
struct sw_hook_input {
	const char *(*environment)(const char *name); /* NULL: not set */
	const char *const *words;                     /* behind KIND */
	size_t n_words;
	const char *text; /* standard input, ends with a NUL; "" when the kind has none */
	size_t size;
	const char *states; /* --states; NULL: not given */
	bool soft;          /* --soft */
	bool has_target;    /* the command line names one: none has to be found */
};

struct sw_hook_request {
	bool idle;           /* nothing is to be done, because of why */
	char why[256];       /* also said by the dump as its reason, when not idle */
	struct sw_want want; /* with has_want; its text is in target */
	bool has_want;
	char target[256];
	struct sw_alerts alerts; /* owned; alertmanager */
	bool has_alerts;
};

void sw_hook_request_deinit(struct sw_hook_request *request);

/* Set and not empty, or "". */
const char *sw_hook_variable(const struct sw_hook_input *input, const char *name);
/* The process id that the whole text is; 0 when it is not a process id. */
pid_t sw_hook_pid(const char *text);
/* The word is in the list "A,B", whatever its case. */
bool sw_hook_in_list(const char *list, const char *word);
void sw_hook_want_pid(struct sw_hook_request *request, pid_t pid);
void sw_hook_want(struct sw_hook_request *request, enum sw_want_kind kind, const char *text);

#endif
