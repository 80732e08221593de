/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A webhook's payload on standard input, for those who have an HTTP server of their own. Which
 * process an alert means is in the daemon's rules. */
#include "hook/request.h"
#include "hook/kinds.h"
#include "text.h"
#include "errors.h"

int sw_hook_alertmanager(const struct sw_hook_input *input, struct sw_hook_request *ret,
			 struct sw_error *err)
{
	*ret = (struct sw_hook_request){0};
	if (input->n_words > 0 || input->has_target)
		return sw_fail(err, SW_E_INVALID,
			       "the daemon's rules say which process an alert means: give no words "
			       "and no target");
	int r = sw_alerts_parse(input->text, input->size, &ret->alerts, err);
	if (r < 0)
		return r;
	ret->has_alerts = true;
	ret->idle = true;
	for (size_t i = 0; i < ret->alerts.n_alerts; i++)
		ret->idle = ret->idle && !ret->alerts.alerts[i].firing;
	(void) snprintf(ret->why, sizeof(ret->why), "alertmanager: %zu alert%s%s",
			ret->alerts.n_alerts, sw_plural(ret->alerts.n_alerts),
			ret->idle ? ", none of them firing" : "");
	return 0;
}
