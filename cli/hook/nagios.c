/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * snapwalk hook nagios --comm NAME $SERVICESTATE$ $SERVICESTATETYPE$ $SERVICEATTEMPT$
 *
 * An event handler is called on every SOFT state, on the first HARD one and on recovery (Nagios
 * Core 4, "Event Handlers"). Without words, the macros are looked for in the environment, where
 * enable_environment_macros=1 puts them with NAGIOS_ before; Icinga 1 has ICINGA_.
 */
#include "hook/request.h"
#include "hook/kinds.h"
#include "errors.h"

#include <string.h>

static const char *macro(const struct sw_hook_input *input, size_t word, const char *name)
{
	static const char *const prefixes[] = {"NAGIOS_", "ICINGA_"};
	char variable[64];
	if (input->n_words > word)
		return input->words[word];
	const char *value = "";
	for (size_t i = 0; i < 2 && value[0] == '\0'; i++) {
		(void) snprintf(variable, sizeof(variable), "%s%s", prefixes[i], name);
		value = sw_hook_variable(input, variable);
	}
	return value;
}

int sw_hook_nagios(const struct sw_hook_input *input, struct sw_hook_request *ret,
		   struct sw_error *err)
{
	enum { STATE, TYPE, ATTEMPT, WORDS };
	*ret = (struct sw_hook_request){0};
	const char *states = input->states != NULL ? input->states : "CRITICAL";
	const char *state = macro(input, STATE, "SERVICESTATE");
	const char *type = macro(input, TYPE, "SERVICESTATETYPE");
	const char *attempt = macro(input, ATTEMPT, "SERVICEATTEMPT");
	const char *service = macro(input, WORDS, "SERVICEDESC");
	if (input->n_words > WORDS)
		return sw_fail(err, SW_E_INVALID,
			       "give $SERVICESTATE$ $SERVICESTATETYPE$ $SERVICEATTEMPT$");
	if (state[0] == '\0' || (strcmp(type, "SOFT") != 0 && strcmp(type, "HARD") != 0))
		return sw_fail(err, SW_E_INVALID,
			       "no state is given: give $SERVICESTATE$ $SERVICESTATETYPE$ "
			       "$SERVICEATTEMPT$");
	if (!input->has_target)
		return sw_fail(err, SW_E_INVALID,
			       "nagios knows no processes: give --pid, --comm, --unit, --cgroup "
			       "or --container");
	(void) snprintf(ret->why, sizeof(ret->why), "nagios: %.64s%s%.32s %.8s%s%.16s", service,
			service[0] != '\0' ? ": " : "", state, type,
			attempt[0] != '\0' ? " attempt " : "", attempt);
	ret->idle = !sw_hook_in_list(states, state) || (!input->soft && strcmp(type, "SOFT") == 0);
	return 0;
}
