/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls: what a client writes, what a service reads. */
#include "errors.h"
#include "varlink_message.h"

#include <stdlib.h>

void sw_varlink_call_deinit(struct sw_varlink_call *call)
{
	free(call->method);
	(void) json_object_put(call->parameters); /* NULL is legal */
	*call = (struct sw_varlink_call){0};
}

static int call_fill(struct json_object *message, struct sw_varlink_call *call,
		     struct sw_error *err)
{
	int r = sw_varlink_name_take(message, "method", &call->method, err);
	if (r == -SW_E_NOT_FOUND)
		r = sw_fail(err, SW_E_FORMAT, "'method' is missing");
	if (r == 0)
		r = sw_varlink_parameters_take(message, &call->parameters, err);
	if (r == 0)
		r = sw_varlink_flag_take(message, "more", &call->more, err);
	if (r == 0)
		r = sw_varlink_flag_take(message, "oneway", &call->oneway, err);
	if (r == 0)
		r = sw_varlink_flag_take(message, "upgrade", &call->upgrade, err);
	if (r == 0)
		r = sw_varlink_rest_check(message, err);
	if (r == 0 && call->more + call->oneway + call->upgrade > 1)
		r = sw_fail(err, SW_E_FORMAT,
			    "more than one of 'more', 'oneway' and 'upgrade' is set");
	return r;
}

int sw_varlink_call_parse(const char *message, size_t size, struct sw_varlink_call *ret,
			  struct sw_error *err)
{
	struct json_object *object = NULL;
	int r = sw_json_object_parse(message, size, SW_VARLINK_DEPTH_MAX, &object, err);
	if (r < 0)
		return r;
	struct sw_varlink_call call = {0};
	r = call_fill(object, &call, err);
	(void) json_object_put(object); /* the rest of it */
	if (r < 0)
		sw_varlink_call_deinit(&call);
	else
		*ret = call;
	return r;
}

int sw_varlink_call_text(const char *method, struct json_object *parameters, bool more,
			 char **ret_message, size_t *ret_size)
{
	struct json_object *call = json_object_new_object();
	bool good = sw_varlink_member_add(call, "method", json_object_new_string(method));
	/* consumed in each case, and {} is the same as none */
	if (parameters != NULL)
		good = sw_varlink_member_add(good ? call : NULL, "parameters", parameters);
	if (good && more)
		good = sw_varlink_member_add(call, "more", json_object_new_boolean(true));
	if (good)
		return sw_varlink_message_text(call, ret_message, ret_size);
	(void) json_object_put(call); /* NULL is legal */
	return -SW_E_NOMEM;
}
