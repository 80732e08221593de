/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Delete: a dump that is kept no longer. */
#include "methods/table.h"
#include "methods/change.h"
#include "methods/context.h"
#include "config/journal.h"
#include "rpc/params.h"
#include "cleanup.h"
#include "errors.h"

#include <snapwalk/clock.h>

/* The administrator must know who had a dump removed; one user must not fill the journal. */
static void log_deleted(struct sw_call *call, const struct sw_store_entry *entry)
{
	const struct sw_methods *methods = call->context;
	struct sw_publisher *publisher = &methods->jobs->publisher;
	uid_t uid = call->connection->caller.uid;
	if (sw_log_limit_take(&publisher->log_limit, uid, sw_clock_ns()))
		sw_log(SW_LOG_INFO, "user %lu deletes dump %s", (unsigned long) uid, entry->id);
}

void sw_method_delete(struct sw_call *call)
{
	static const struct sw_param table[] = {
		{"id", SW_PARAM_STRING, 0, true, .max = SW_CHANGE_ID_MAX}};
	const struct sw_methods *methods = call->context;
	struct sw_error err = {0};
	const char *id = NULL, *bad;
	if (!sw_params_read(call->message.parameters, table, SW_ARRAY_SIZE(table), &id, &bad)) {
		sw_call_invalid(call, bad);
		return;
	}
	const struct sw_store_entry *entry = sw_change_find(call, id);
	if (entry == NULL)
		return;
	log_deleted(call, entry);
	sw_recent_forget(&methods->jobs->recent, id); /* or the next caller would have it */
	int r = sw_store_remove(methods->jobs->publisher.store, id, &err);
	sw_change_reply(call, id, r, &err);
}
