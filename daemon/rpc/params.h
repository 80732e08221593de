/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_RPC_PARAMS_H
#define SW_DAEMON_RPC_PARAMS_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Parameters of a call, by a table. Null is absent; what is not in the table is refused (UAPI.20).
 * Fields are filled only when the parameter is there.
 */
enum sw_param_kind {
	SW_PARAM_INT,    /* int64_t; within [min, max] */
	SW_PARAM_BOOL,   /* bool */
	SW_PARAM_STRING, /* const char *, borrowed; at most max bytes, not empty, no NUL inside */
	SW_PARAM_CHOICE, /* int: index in choices */
	SW_PARAM_OBJECT, /* struct json_object *, borrowed */
};

struct sw_param {
	const char *name;
	enum sw_param_kind kind;
	size_t offset;
	bool required;
	int64_t min, max;
	const char *const *choices; /* NULL-terminated */
};

/* True; or false and the name of the parameter that is wrong, borrowed from object or table. */
bool sw_params_read(struct json_object *object, const struct sw_param *table, size_t n, void *ret,
		    const char **ret_bad);

#endif
