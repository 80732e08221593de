/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* List: dumps on disk. */
#include "methods/table.h"
#include "methods/context.h"
#include "methods/target.h"
#include "rpc/params.h"
#include "jobs/summary.h"
#include "cleanup.h"

#include <string.h>

enum { LIST_BYTES_MAX = 15 << 20 }; /* of summaries in one reply: the limit of clients is 16 MiB */

struct list_params {
	int64_t pid, limit, since_ns;
	const char *comm, *since, *id;
};

static const struct sw_param list_table[] = {
	{"pid", SW_PARAM_INT, offsetof(struct list_params, pid), .min = 1, .max = INT32_MAX},
	{"comm", SW_PARAM_STRING, offsetof(struct list_params, comm), .max = 64},
	{"since", SW_PARAM_STRING, offsetof(struct list_params, since), .max = 64},
	{"id", SW_PARAM_STRING, offsetof(struct list_params, id), .max = 64},
	{"limit", SW_PARAM_INT, offsetof(struct list_params, limit), .min = 1, .max = INT32_MAX},
};

static bool may_see(const struct sw_call *call, const struct sw_store_entry *entry)
{
	const struct sw_methods *methods = call->context;
	return sw_methods_may_see(methods, &call->connection->caller, &entry->subject);
}

static bool matches(const struct sw_store_entry *entry, const struct list_params *p,
		    const struct sw_call *call)
{
	return (p->pid == 0 || entry->pid == p->pid) &&
	       (p->comm == NULL || strcmp(entry->comm, p->comm) == 0) &&
	       (p->since == NULL || entry->time_ns >= p->since_ns) &&
	       (p->id == NULL || strncmp(entry->id, p->id, strlen(p->id)) == 0) &&
	       may_see(call, entry);
}

/* The dumps on disk that are not read yet, with "more": names, because the store may change
 * meanwhile. */
struct listing {
	char **ids; /* owned */
	size_t n, next;
};

static struct sw_store *store_of(const struct sw_call *call)
{
	const struct sw_methods *methods = call->context;
	return methods->jobs->publisher.store;
}

static void list_cancel(struct sw_call *call)
{
	struct listing *listing = call->state;
	for (size_t i = 0; i < listing->n; i++)
		free(listing->ids[i]);
	free(listing->ids);
	free(listing);
}

/* The summary is as it was when the dump was kept: an object with members. */
static void put_summary(struct sw_text *text, const struct sw_store_entry *entry)
{
	size_t length = strlen(entry->summary);
	if (entry->pinned)
		sw_text_printf(text, "%.*s,\"pinned\":true}", (int) length - 1, entry->summary);
	else
		sw_text_append(text, entry->summary, length);
}

static void reply_summary(struct sw_call *call, const struct sw_store_entry *entry, bool continues)
{
	struct sw_text text = {0};
	if (entry != NULL) {
		sw_text_printf(&text, "{\"summary\":");
		put_summary(&text, entry);
	} else
		sw_text_append(&text, "{", 1);
	sw_text_append(&text, "}", 1);
	sw_call_reply_text(call, &text, continues);
}

static bool list_pump(struct sw_call *call)
{
	struct listing *listing = call->state;
	const struct sw_store_entry *entry = NULL;
	while (listing->next < listing->n && entry == NULL) {
		entry = sw_store_find(store_of(call), listing->ids[listing->next++]);
		if (entry != NULL && !may_see(call, entry)) /* Deny= was read again meanwhile */
			entry = NULL;
	}
	bool continues = listing->next < listing->n;
	reply_summary(call, entry, continues);
	return continues;
}

static void list_one_by_one(struct sw_call *call, const struct list_params *p)
{
	const struct sw_store *store = store_of(call);
	size_t count = store != NULL ? sw_store_count(store) : 0;
	struct listing *listing = calloc(1, sizeof(*listing));
	char **ids = calloc(count + 1, sizeof(*ids));
	bool ok = listing != NULL && ids != NULL;
	size_t n = 0;
	for (size_t i = 0; ok && i < count && (p->limit == 0 || n < (size_t) p->limit); i++) {
		const struct sw_store_entry *entry = sw_store_entry(store, i);
		if (!matches(entry, p, call))
			continue;
		ids[n] = strdup(entry->id);
		ok = ids[n++] != NULL;
	}
	if (listing == NULL) {
		free(ids);
		sw_call_failed(call, "not enough memory");
		return;
	}
	*listing = (struct listing){.ids = ids, .n = n};
	call->state = listing;
	call->cancel = list_cancel;
	if (!ok)
		sw_call_failed(call, "not enough memory");
	else if (n == 0)
		reply_summary(call, NULL, false);
	else {
		call->pump = list_pump;
		sw_connection_kick(call->connection);
	}
}

static void list_at_once(struct sw_call *call, const struct list_params *p)
{
	const struct sw_store *store = store_of(call);
	size_t count = store != NULL ? sw_store_count(store) : 0, n = 0;
	struct sw_text text = {0};
	sw_text_printf(&text, "{\"summaries\":[");
	/* When they are too many the oldest are missing; "more" has them all. */
	for (size_t i = 0; i < count && (p->limit == 0 || n < (size_t) p->limit); i++) {
		const struct sw_store_entry *entry = sw_store_entry(store, i);
		if (!matches(entry, p, call))
			continue;
		if (text.size + strlen(entry->summary) > LIST_BYTES_MAX)
			break;
		if (n++ > 0)
			sw_text_append(&text, ",", 1);
		put_summary(&text, entry);
	}
	sw_text_append(&text, "]}", 2);
	sw_call_reply_text(call, &text, false);
}

void sw_method_list(struct sw_call *call)
{
	struct list_params p = {0};
	const char *bad;
	if (!sw_params_read(call->message.parameters, list_table, SW_ARRAY_SIZE(list_table), &p,
			    &bad)) {
		sw_call_invalid(call, bad);
		return;
	}
	if (p.since != NULL && !sw_time_parse(p.since, &p.since_ns)) {
		sw_call_invalid(call, "since");
		return;
	}
	if (call->message.more)
		list_one_by_one(call, &p);
	else
		list_at_once(call, &p);
}
