/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_METHODS_ALERTS_H
#define SW_DAEMON_METHODS_ALERTS_H

#include <json-c/json.h>
#include <stddef.h>
#include <sys/queue.h>

/* Alerts that were acted on: a monitoring system sends a group again and again. Bounded: the
 * oldest is forgotten first. */

struct sw_acted_alerts {
	TAILQ_HEAD(sw_acted_alert_list, sw_acted_alert) list; /* oldest first */
	size_t n;
};

void sw_acted_alerts_init(struct sw_acted_alerts *alerts);
void sw_acted_alerts_deinit(struct sw_acted_alerts *alerts);

/* Owned by the caller. NULL: no memory. starts_at may be NULL. */
char *sw_acted_alerts_key(const char *source, const char *fingerprint, const char *starts_at);
/* The ids of its dumps, borrowed; NULL: it is new. */
struct json_object *sw_acted_alerts_find(struct sw_acted_alerts *alerts, const char *key);
/* Takes a reference of ids. Without memory it is forgotten, and acted on again. */
void sw_acted_alerts_add(struct sw_acted_alerts *alerts, const char *key, struct json_object *ids);

#endif
