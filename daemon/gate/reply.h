/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_GATE_REPLY_H
#define SW_DAEMON_GATE_REPLY_H

#include <json-c/json.h>
#include <stddef.h>

/* An answer of HTTP. */
struct sw_gate_reply {
	unsigned code;
	unsigned retry_after_s; /* with 503 */
	const char *type;       /* static; Content-Type */
	const char *allow;      /* static; with 405 */
	char *body;             /* owned; NULL: out of memory */
	size_t size;
};

/* {"error":MESSAGE} */
void sw_gate_reply_error(struct sw_gate_reply *ret, unsigned code, const char *message);
/* Consumes the object; NULL: out of memory. */
void sw_gate_reply_json(struct sw_gate_reply *ret, unsigned code, struct json_object *object);

#endif
