/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* List and Read: dumps on disk. */
#include "broker_params.h"
#include "broker_stream.h"
#include "broker_summary.h"
#include "cleanup.h"

#include <string.h>

enum {
	LIST_BYTES_MAX = 15 << 20, /* of summaries in one reply: the limit of clients is 16 MiB */
	ID_MAX = 4096,             /* longer ones are not even looked for */
};

struct list_params {
	int64_t pid, limit, since_ns;
	const char *comm, *since;
};

static const struct sw_param list_table[] = {
	{"pid", SW_PARAM_INT, offsetof(struct list_params, pid), .min = 1, .max = INT32_MAX},
	{"comm", SW_PARAM_STRING, offsetof(struct list_params, comm), .max = 64},
	{"since", SW_PARAM_STRING, offsetof(struct list_params, since), .max = 64},
	{"limit", SW_PARAM_INT, offsetof(struct list_params, limit), .min = 1, .max = INT32_MAX},
};

static bool matches(const struct sw_store_entry *entry, const struct list_params *p,
		    const struct sw_caller *caller)
{
	return (p->pid == 0 || entry->pid == p->pid) &&
	       (p->comm == NULL || strcmp(entry->comm, p->comm) == 0) &&
	       (p->since == NULL || entry->time_ns >= p->since_ns) &&
	       sw_authorize_dump(caller, entry->uid);
}

/* What is on disk and not read yet, with "more": names, because the store may change meanwhile. */
struct listing {
	char **ids; /* owned */
	size_t n, next;
};

static void list_cancel(struct sw_call *call)
{
	struct listing *listing = call->state;
	for (size_t i = 0; i < listing->n; i++)
		free(listing->ids[i]);
	free(listing->ids);
	free(listing);
}

static void reply_summary(struct sw_call *call, const char *summary, bool continues)
{
	struct sw_text text = {0};
	if (summary != NULL)
		sw_text_printf(&text, "{\"summary\":%s}", summary);
	else
		sw_text_append(&text, "{}", 2);
	sw_call_reply_text(call, &text, continues);
}

static bool list_pump(struct sw_call *call)
{
	struct listing *listing = call->state;
	const struct sw_store_entry *entry = NULL;
	while (listing->next < listing->n && entry == NULL)
		entry = sw_store_find(call->broker->store, listing->ids[listing->next++]);
	bool continues = listing->next < listing->n;
	reply_summary(call, entry != NULL ? entry->summary : NULL, continues);
	return continues;
}

static void list_one_by_one(struct sw_call *call, const struct list_params *p)
{
	const struct sw_store *store = call->broker->store;
	size_t count = store != NULL ? sw_store_count(store) : 0;
	struct listing *listing = calloc(1, sizeof(*listing));
	char **ids = calloc(count + 1, sizeof(*ids));
	bool ok = listing != NULL && ids != NULL;
	size_t n = 0;
	for (size_t i = 0; ok && i < count && (p->limit == 0 || n < (size_t) p->limit); i++) {
		const struct sw_store_entry *entry = sw_store_entry(store, i);
		if (!matches(entry, p, &call->connection->caller))
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
	const struct sw_store *store = call->broker->store;
	size_t count = store != NULL ? sw_store_count(store) : 0, n = 0;
	struct sw_text text = {0};
	sw_text_printf(&text, "{\"summaries\":[");
	/* When they are too many the oldest are missing; "more" has them all. */
	for (size_t i = 0; i < count && (p->limit == 0 || n < (size_t) p->limit); i++) {
		const struct sw_store_entry *entry = sw_store_entry(store, i);
		if (!matches(entry, p, &call->connection->caller))
			continue;
		if (text.size + strlen(entry->summary) > LIST_BYTES_MAX)
			break;
		sw_text_printf(&text, "%s%s", n++ > 0 ? "," : "", entry->summary);
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

static void read_cancel(struct sw_call *call)
{
	sw_dump_stream_deinit(call->state);
	free(call->state);
}

static bool read_pump(struct sw_call *call)
{
	return sw_dump_stream_next(call->state, call, true) == SW_STREAMED_PIECE;
}

static void read_stream(struct sw_call *call, struct sw_dump *dump)
{
	struct sw_dump_stream *stream = calloc(1, sizeof(*stream));
	if (stream == NULL) {
		sw_call_failed(call, "not enough memory");
		return;
	}
	sw_dump_stream_begin(stream, dump, SW_COALESCED_UNSAID);
	call->state = stream;
	call->cancel = read_cancel;
	call->pump = read_pump;
	sw_connection_kick(call->connection);
}

static int dump_open(struct sw_store *store, const char *id, struct sw_dump **ret,
		     struct sw_error *err)
{
	char *text = NULL;
	size_t size = 0;
	int r = sw_store_get(store, id, &text, &size, err);
	if (r == 0)
		r = sw_dump_create(text, size, ret, err);
	if (r == 0 && sw_dump_set_stored(*ret, true) < 0) {
		sw_dump_unref(*ret);
		r = -SW_E_NOMEM;
	}
	return r;
}

void sw_method_read(struct sw_call *call)
{
	static const struct sw_param table[] = {{"id", SW_PARAM_STRING, 0, true, .max = ID_MAX}};
	struct sw_store *store = call->broker->store;
	struct sw_error err = {0};
	const char *id = NULL, *bad;
	if (!sw_params_read(call->message.parameters, table, SW_ARRAY_SIZE(table), &id, &bad)) {
		sw_call_invalid(call, bad);
		return;
	}
	const struct sw_store_entry *entry = store != NULL ? sw_store_find(store, id) : NULL;
	/* A dump that the caller may not see is none: its id says when which process was dumped. */
	if (entry == NULL || !sw_authorize_dump(&call->connection->caller, entry->uid)) {
		sw_call_error(call, SW_INTERFACE ".NoSuchDump", sw_object_string("id", id));
		return;
	}
	struct sw_dump *dump = NULL;
	int r = dump_open(store, id, &dump, &err);
	if (r == -SW_E_NOT_FOUND)
		sw_call_error(call, SW_INTERFACE ".NoSuchDump", sw_object_string("id", id));
	else if (r < 0)
		sw_call_failed(call, err.code != 0 ? err.message : sw_error_text(r));
	else if (call->message.more)
		read_stream(call, dump);
	else
		sw_dump_send_whole(dump, call, SW_COALESCED_UNSAID);
	if (r == 0)
		sw_dump_unref(dump);
}
