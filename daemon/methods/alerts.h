/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_METHODS_ALERTS_H
#define SW_DAEMON_METHODS_ALERTS_H

#include "rpc/call.h"

/* Alerts that were acted on: a monitoring system tells of a group again and again. Bounded: the
 * oldest is forgotten first. */

/* Owned by the caller. NULL: no memory. starts_at may be NULL. */
char *sw_alerts_key(const char *source, const char *fingerprint, const char *starts_at);
/* The ids of its dumps, borrowed; NULL: it is new. */
struct json_object *sw_alerts_find(struct sw_broker *broker, const char *key);
/* Takes a reference of ids. Without memory it is forgotten, and acted on again. */
void sw_alerts_add(struct sw_broker *broker, const char *key, struct json_object *ids);
void sw_alerts_clear(struct sw_broker *broker);

#endif
