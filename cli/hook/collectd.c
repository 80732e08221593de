/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * NotificationExec "USER" "/usr/bin/snapwalk" "hook" "collectd"
 *
 * A notification comes on standard input: lines "Name: value", an empty line, the message. Source:
 * collectd 5.12, collectd-exec(5), "NOTIFICATION DATA FORMAT": Severity is FAILURE, WARNING or
 * OKAY; unknown names are to be ignored. The processes plugin (collectd.conf(5)) has the name of
 * the process as its instance.
 */
#include "hook/request.h"
#include "hook/kinds.h"
#include "errors.h"

#include <string.h>

/* The value of a header line, cut to size; "" when there is none. The headers end at an empty
 * line: what looks like one in the message is not a header. */
static void header(const char *text, const char *name, char *ret, size_t size)
{
	size_t length = strlen(name);
	ret[0] = '\0';
	for (const char *line = text; *line != '\0' && *line != '\n';) {
		const char *end = strchrnul(line, '\n');
		if (strncasecmp(line, name, length) == 0 && line[length] == ':') {
			const char *value = line + length + 1;
			value += strspn(value, " \t");
			/* an empty value leaves the blanks to the line's end behind */
			int n = value < end ? (int) (end - value) : 0;
			(void) snprintf(ret, size, "%.*s", n, value);
			return;
		}
		line = *end == '\0' ? end : end + 1;
	}
}

static const char *message_of(const char *text)
{
	const char *blank = strstr(text, "\n\n");
	return blank != NULL ? blank + 2 : "";
}

int sw_hook_collectd(const struct sw_hook_input *input, struct sw_hook_request *ret,
		     struct sw_error *err)
{
	char severity[16], plugin[64], instance[128];
	*ret = (struct sw_hook_request){0};
	const char *states = input->states != NULL ? input->states : "FAILURE";
	if (input->n_words > 0)
		return sw_fail(err, SW_E_INVALID,
			       "collectd says all on standard input: give no words");
	header(input->text, "Severity", severity, sizeof(severity));
	header(input->text, "Plugin", plugin, sizeof(plugin));
	header(input->text, "PluginInstance", instance, sizeof(instance));
	if (severity[0] == '\0')
		return sw_fail(err, SW_E_FORMAT,
			       "no notification of collectd: it has no line 'Severity:'");
	const char *message = message_of(input->text);
	(void) snprintf(ret->why, sizeof(ret->why), "collectd: %s: %.*s", severity,
			(int) strcspn(message, "\n"), message); /* cut is fine */
	ret->idle = !sw_hook_in_list(states, severity);
	if (ret->idle || input->has_target)
		return 0;
	if (strcmp(plugin, "processes") != 0 || instance[0] == '\0')
		return sw_fail(err, SW_E_INVALID,
			       "only notifications of the processes plugin say which process: "
			       "give --comm, --unit or --pid");
	sw_hook_want(ret, SW_WANT_COMM, instance);
	return 0;
}
