/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SNAPWALK_ALERTS_H
#define SNAPWALK_ALERTS_H

/*
 * The payload that Alertmanager sends to a webhook, for the integrations that pass it on to the
 * daemon.
 */

#include <snapwalk/error.h>

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
	SW_ALERTS_BYTES_MAX = 1 << 20, /* of a payload */
	SW_ALERTS_MAX = 1024,          /* alerts in one payload */
	SW_ALERT_LABELS_MAX = 128,     /* labels of one alert */
	SW_ALERT_TEXT_MAX = 4096,      /* bytes of a label's name or value */
};

/** An alert; all of it is borrowed from the payload. */
struct sw_alert {
	bool firing;                /* of this alert: that of the group says nothing about it */
	const char *fingerprint;    /* NULL: none */
	const char *starts_at;      /* NULL: none */
	struct json_object *labels; /* names and values are strings */
};

struct sw_alerts {
	struct json_object *payload; /* owned */
	struct sw_alert *alerts;     /* owned */
	size_t n_alerts;
};

/**
 * Parse a webhook's payload, version 4.
 *
 * @param text  Need not end with a NUL.
 * @return 0; -SW_E_FORMAT; -SW_E_LIMIT; -SW_E_NOMEM. Free with sw_alerts_deinit().
 * Source: Alertmanager 0.25, template.Data and notify/webhook.
 */
SW_PUBLIC int sw_alerts_parse(const char *text, size_t size, struct sw_alerts *ret,
			      struct sw_error *err);
SW_PUBLIC void sw_alerts_deinit(struct sw_alerts *alerts);

/** Parameters of io.snapwalk.Trigger for an alert; the caller's. NULL: out of memory. */
SW_PUBLIC struct json_object *sw_alert_trigger(const struct sw_alert *alert, const char *source);

#ifdef __cplusplus
}
#endif

#endif
