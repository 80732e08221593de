/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rpc/reply.h"

#include <stdarg.h>
#include <stdio.h>

struct json_object *sw_object_add(struct json_object *object, const char *name,
				  struct json_object *value)
{
	if (object == NULL || value == NULL || json_object_object_add(object, name, value) < 0)
		(void) json_object_put(value); /* NULL is fine */
	return object;
}

struct json_object *sw_object_int(const char *name, int64_t value)
{
	return sw_object_add(json_object_new_object(), name, json_object_new_int64(value));
}

struct json_object *sw_object_string(const char *name, const char *value)
{
	return sw_object_add(json_object_new_object(), name, json_object_new_string(value));
}

struct json_object *sw_object_busy(int64_t retry_after_ms, const char *why)
{
	return sw_object_add(sw_object_int("retry_after_ms", retry_after_ms), "why",
			     json_object_new_string(why));
}

void sw_refusal_deinit(struct sw_refusal *refusal)
{
	(void) json_object_put(refusal->parameters); /* NULL is fine */
	*refusal = (struct sw_refusal){0};
}

bool sw_refuse(struct sw_refusal *refusal, const char *name, struct json_object *parameters,
	       const char *fmt, ...)
{
	va_list ap;
	sw_refusal_deinit(refusal);
	refusal->name = name;
	refusal->parameters = parameters;
	va_start(ap, fmt);
	(void) vsnprintf(refusal->message, sizeof(refusal->message), fmt, ap); /* prose */
	va_end(ap);
	return false;
}

bool sw_refuse_denied(struct sw_refusal *refusal, pid_t pid, enum sw_deny_rule rule)
{
	const char *name = sw_deny_name(rule);
	return sw_refuse(refusal, SW_INTERFACE ".NotPermitted",
			 sw_object_add(sw_object_int("pid", pid), "rule",
				       json_object_new_string(name)),
			 "not permitted (%s)", name);
}
