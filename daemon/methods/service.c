/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* org.varlink.service: what any client may ask any service. */
#include "methods/service.h"
#include "rpc/params.h"
#include "cleanup.h"

#include <string.h>

static const struct {
	const char *name;
	const char *const *text;
} interfaces[] = {
	{SW_INTERFACE, &sw_varlink_interface_snapwalk},
	{SW_SERVICE, &sw_varlink_interface_service},
};

void sw_method_get_info(struct sw_call *call)
{
	const char *bad;
	if (!sw_params_read(call->message.parameters, NULL, 0, NULL, &bad)) {
		sw_call_invalid(call, bad);
		return;
	}
	struct json_object *names = json_object_new_array();
	for (size_t i = 0; names != NULL && i < SW_ARRAY_SIZE(interfaces); i++)
		(void) json_object_array_add(names, json_object_new_string(interfaces[i].name));
	struct json_object *info = sw_object_string("vendor", "snapwalk");
	sw_object_add(info, "product", json_object_new_string("snapwalkd"));
	sw_object_add(info, "version", json_object_new_string(SW_VERSION));
	sw_object_add(info, "url", json_object_new_string("man:snapwalkd(8)"));
	sw_object_add(info, "interfaces", names);
	sw_call_reply(call, info, false);
}

void sw_method_get_interface(struct sw_call *call)
{
	static const struct sw_param table[] = {
		{"interface", SW_PARAM_STRING, 0, true, .max = SW_VARLINK_METHOD_MAX}};
	const char *wanted = NULL, *bad;
	if (!sw_params_read(call->message.parameters, table, SW_ARRAY_SIZE(table), &wanted, &bad)) {
		sw_call_invalid(call, bad);
		return;
	}
	for (size_t i = 0; i < SW_ARRAY_SIZE(interfaces); i++) {
		if (strcmp(interfaces[i].name, wanted) == 0) {
			sw_call_reply(call, sw_object_string("description", *interfaces[i].text),
				      false);
			return;
		}
	}
	sw_call_error(call, SW_SERVICE ".InterfaceNotFound", sw_object_string("interface", wanted));
}
