/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "hook/request.h"
#include "cleanup.h"
#include "common/option_values.h"

#include <limits.h>
#include <string.h>

void sw_hook_request_deinit(struct sw_hook_request *request)
{
	if (request->has_alerts)
		sw_alerts_deinit(&request->alerts);
	*request = (struct sw_hook_request){0};
}

const char *sw_hook_variable(const struct sw_hook_input *input, const char *name)
{
	const char *value = input->environment(name);
	return value != NULL ? value : "";
}

pid_t sw_hook_pid(const char *text)
{
	struct sw_usage usage;
	uint64_t pid;
	return sw_number_parse(text, 1, INT_MAX, &pid, &usage) ? (pid_t) pid : 0;
}

bool sw_hook_in_list(const char *list, const char *word)
{
	size_t length = strlen(word);
	for (const char *item = list;; item++) {
		const char *end = strchrnul(item, ',');
		if ((size_t) (end - item) == length && strncasecmp(item, word, length) == 0)
			return length > 0;
		if (*end == '\0')
			return false;
		item = end;
	}
}

void sw_hook_want_pid(struct sw_hook_request *request, pid_t pid)
{
	(void) snprintf(request->target, sizeof(request->target), "%d", (int) pid);
	request->want = (struct sw_want){.kind = SW_WANT_PID, .pid = pid, .text = request->target};
	request->has_want = true;
}

void sw_hook_want(struct sw_hook_request *request, enum sw_want_kind kind, const char *text)
{
	(void) snprintf(request->target, sizeof(request->target), "%s", text);
	request->want = (struct sw_want){.kind = kind, .text = request->target};
	request->has_want = true;
}
