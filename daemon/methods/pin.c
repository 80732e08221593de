/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pin: a dump that the limits of the store do not remove. */
#include "methods/table.h"
#include "methods/change.h"
#include "methods/context.h"
#include "rpc/params.h"
#include "store/pins.h"
#include "cleanup.h"
#include "errors.h"

struct pin_params {
	const char *id;
	bool pinned;
};

void sw_method_pin(struct sw_call *call)
{
	static const struct sw_param table[] = {{"id", SW_PARAM_STRING,
						 offsetof(struct pin_params, id), true,
						 .max = SW_CHANGE_ID_MAX},
						{"pinned", SW_PARAM_BOOL,
						 offsetof(struct pin_params, pinned), .max = 1}};
	struct pin_params p = {.pinned = true};
	const struct sw_methods *methods = call->context;
	const struct sw_caller *caller = &call->connection->caller;
	struct sw_error err = {0};
	const char *bad;
	if (!sw_params_read(call->message.parameters, table, SW_ARRAY_SIZE(table), &p, &bad)) {
		sw_call_invalid(call, bad);
		return;
	}
	if (sw_change_find(call, p.id) == NULL)
		return;
	struct sw_store *store = methods->jobs->publisher.store;
	bool limited = !sw_caller_is_privileged(methods->jobs->config, caller);
	int r = p.pinned ? sw_store_pin(store, p.id, caller->uid, limited, &err)
			 : sw_store_unpin(store, p.id, &err);
	sw_change_reply(call, p.id, r, &err);
}
