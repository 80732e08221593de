/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * ExecStop=/usr/bin/snapwalk hook systemd            the main process, before it is told to stop
 * ExecStart=/usr/bin/snapwalk hook systemd %i        in a template that another unit starts
 *
 * Source: systemd 252, systemd.service(5) and systemd.exec(5): $MAINPID is set for ExecReload=,
 * ExecStop= and the like as long as there is a main process; $SERVICE_RESULT for ExecStop=; the
 * unit that OnFailure= is about is in $MONITOR_UNIT.
 */
#include "hook/request.h"
#include "hook/kinds.h"
#include "errors.h"

#include <string.h>

/* "%i" of a template may be a process id or a unit. */
static void want_word(struct sw_hook_request *ret, const char *word)
{
	pid_t pid = sw_hook_pid(word);
	if (pid > 0)
		sw_hook_want_pid(ret, pid);
	else
		sw_hook_want(ret, SW_WANT_UNIT, word);
}

int sw_hook_systemd(const struct sw_hook_input *input, struct sw_hook_request *ret,
		    struct sw_error *err)
{
	*ret = (struct sw_hook_request){0};
	const char *result = sw_hook_variable(input, "SERVICE_RESULT");
	const char *unit = sw_hook_variable(input, "MONITOR_UNIT");
	const char *main_pid = sw_hook_variable(input, "MAINPID");
	const char *word = input->n_words > 0 ? input->words[0] : "";
	if (input->n_words > 1)
		return sw_fail(err, SW_E_INVALID, "give one process id or unit");
	(void) snprintf(ret->why, sizeof(ret->why), "systemd%s%.64s%s%.64s",
			unit[0] != '\0' ? ": " : "", unit, result[0] != '\0' ? ": result " : "",
			result);
	if (input->has_target)
		return 0;
	if (word[0] != '\0')
		want_word(ret, word);
	else if (sw_hook_pid(main_pid) > 0)
		sw_hook_want_pid(ret, sw_hook_pid(main_pid));
	else if (unit[0] != '\0')
		sw_hook_want(ret, SW_WANT_UNIT, unit);
	else if (input->n_words > 0 || result[0] != '\0' || input->environment("MAINPID") != NULL)
		return sw_fail(err, SW_E_NOT_FOUND, "the main process has ended");
	else
		return sw_fail(err, SW_E_INVALID,
			       "MAINPID is not set: give $MAINPID, a process id or a unit");
	return 0;
}
