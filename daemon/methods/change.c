/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "methods/change.h"
#include "methods/context.h"
#include "errors.h"

static void reply_unknown(struct sw_call *call, const char *id)
{
	sw_call_error(call, SW_INTERFACE ".NoSuchDump", sw_object_string("id", id));
}

static struct sw_kept_rights rights_of(const struct sw_store_entry *entry)
{
	return (struct sw_kept_rights){.by = entry->by,
				       .alert = entry->alert,
				       .pinned = entry->pinned,
				       .pinned_by = entry->pinned_by};
}

const struct sw_store_entry *sw_change_find(struct sw_call *call, const char *id)
{
	const struct sw_methods *methods = call->context;
	const struct sw_publisher *publisher = &methods->jobs->publisher;
	const struct sw_caller *caller = &call->connection->caller;
	const struct sw_store_entry *entry =
		publisher->store != NULL ? sw_store_find(publisher->store, id) : NULL;
	/* Dumps that Deny= keeps from the privileged may still be removed by them. */
	if (entry == NULL ||
	    (!sw_caller_is_privileged(publisher->config, caller) &&
	     sw_authorize(publisher->config, caller, &entry->subject) != SW_DENY_NONE)) {
		reply_unknown(call, id);
		return NULL;
	}
	const struct sw_kept_rights rights = rights_of(entry);
	enum sw_deny_rule rule =
		sw_authorize_change(publisher->config, caller, &entry->subject, &rights);
	if (rule == SW_DENY_NONE)
		return entry;
	publisher->counters->denied_total++;
	struct sw_refusal refusal = {0};
	(void) sw_refuse_denied(&refusal, entry->pid, rule); /* always false */
	sw_call_refuse(call, &refusal);
	sw_refusal_deinit(&refusal);
	return NULL;
}

void sw_change_reply(struct sw_call *call, const char *id, int r, const struct sw_error *err)
{
	if (r == 0)
		sw_call_reply(call, json_object_new_object(), false);
	else if (r == -SW_E_NOT_FOUND)
		reply_unknown(call, id);
	else if (r == -SW_E_LIMIT)
		sw_call_error(call, SW_INTERFACE ".PinLimit",
			      sw_object_string("detail", err->message));
	else
		sw_call_failed(call, err->message);
}
