/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * then exec "/usr/bin/snapwalk hook monit"
 *
 * Source: Monit 5.33, monit(1), "PROGRAM STATUS TESTING / exec": the variables of a program's
 * environment. MONIT_PROCESS_PID is there for process checks only, and not positive when the
 * process does not run.
 */
#include "hook/request.h"
#include "hook/kinds.h"
#include "errors.h"

#include <string.h>

/* "Resource limit succeeded": it is over. Monit's names of events, src/event.c. */
static bool is_recovery(const char *event)
{
	static const char word[] = "succeeded";
	size_t length = strlen(event);
	return length >= strlen(word) && strcmp(event + length - strlen(word), word) == 0;
}

int sw_hook_monit(const struct sw_hook_input *input, struct sw_hook_request *ret,
		  struct sw_error *err)
{
	*ret = (struct sw_hook_request){0};
	const char *event = sw_hook_variable(input, "MONIT_EVENT");
	const char *service = sw_hook_variable(input, "MONIT_SERVICE");
	const char *description = sw_hook_variable(input, "MONIT_DESCRIPTION");
	if (input->n_words > 0)
		return sw_fail(err, SW_E_INVALID,
			       "monit says all in its environment: give no "
			       "words");
	if (event[0] == '\0')
		return sw_fail(err, SW_E_INVALID,
			       "MONIT_EVENT is not set: monit has to call this, by exec");
	(void) snprintf(ret->why, sizeof(ret->why), "monit: %.64s: %.64s%s%.110s", service, event,
			description[0] != '\0' ? ": " : "", description);
	ret->idle = is_recovery(event);
	if (ret->idle || input->has_target)
		return 0;
	pid_t pid = sw_hook_pid(sw_hook_variable(input, "MONIT_PROCESS_PID"));
	if (pid == 0)
		return sw_fail(err, SW_E_NOT_FOUND, "monit knows no running process of %.64s",
			       service);
	sw_hook_want_pid(ret, pid);
	return 0;
}
