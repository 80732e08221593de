/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_RPC_REPLY_H
#define SW_DAEMON_RPC_REPLY_H

#include "policy/authorize.h"

#include <json-c/json.h>

#define SW_INTERFACE "io.snapwalk"
#define SW_SERVICE   "org.varlink.service"

/* Objects with one or two members; NULL: no memory, which makes an error without parameters. */
struct json_object *sw_object_int(const char *name, int64_t value);
struct json_object *sw_object_string(const char *name, const char *value);
/* The parameters of Busy. */
struct json_object *sw_object_busy(int64_t retry_after_ms, const char *why);
/* Consumes value. Adds nothing when either is NULL. Returns object. */
struct json_object *sw_object_add(struct json_object *object, const char *name,
				  struct json_object *value);

/* An error reply that was not sent yet. */
struct sw_refusal {
	const char *name;                   /* static; NULL: none */
	struct json_object *parameters;     /* owned */
	char message[SW_ERROR_MESSAGE_MAX]; /* the same in words */
};
void sw_refusal_deinit(struct sw_refusal *refusal);
/* Fills it; consumes parameters. Always false, so that it can be returned. */
__attribute__((format(printf, 4, 5))) bool sw_refuse(struct sw_refusal *refusal, const char *name,
						     struct json_object *parameters,
						     const char *fmt, ...);
bool sw_refuse_denied(struct sw_refusal *refusal, pid_t pid, enum sw_deny_rule rule);

#endif
