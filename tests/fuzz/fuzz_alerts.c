/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A webhook's payload: an alert that is taken can be passed on. */
#include "fuzz.h"

#include <snapwalk/alerts.h>

static void fuzz_alerts(const char *text, size_t size)
{
	struct sw_alerts alerts;
	struct sw_error err = {0};
	int r = sw_alerts_parse(text, size, &alerts, &err);
	check(r == 0 || (r < 0 && err.code == -r && err.message[0] != '\0'));
	if (r < 0)
		return;
	check(alerts.n_alerts <= SW_ALERTS_MAX);
	for (size_t i = 0; i < alerts.n_alerts; i++) {
		struct json_object *call = sw_alert_trigger(&alerts.alerts[i], "fuzz");
		check(call != NULL && json_object_object_get(call, "labels") != NULL);
		check(json_object_put(call) == 1);
	}
	sw_alerts_deinit(&alerts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_alerts((const char *) data, size);
	return 0;
}
