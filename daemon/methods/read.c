/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Read: a dump on disk. */
#include "methods/table.h"
#include "methods/context.h"
#include "methods/stream.h"
#include "methods/target.h"
#include "rpc/params.h"
#include "cleanup.h"
#include "errors.h"

enum { ID_MAX = 4096 }; /* longer ones are not even looked for */

static void read_cancel(struct sw_call *call)
{
	sw_dump_stream_deinit(call->state);
	free(call->state);
}

static bool read_pump(struct sw_call *call)
{
	return sw_dump_stream_next(call->state, call, true) == SW_STREAMED_PART;
}

static void read_stream(struct sw_call *call, struct sw_dump *dump)
{
	struct sw_dump_stream *stream = calloc(1, sizeof(*stream));
	if (stream == NULL) {
		sw_call_failed(call, "not enough memory");
		return;
	}
	call->state = stream;
	call->cancel = read_cancel;
	call->pump = read_pump;
	sw_dump_stream_begin(stream, call, dump, SW_COALESCED_UNSAID);
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
	const struct sw_methods *methods = call->context;
	struct sw_store *store = methods->jobs->publisher.store;
	struct sw_error err = {0};
	const char *id = NULL, *bad;
	if (!sw_params_read(call->message.parameters, table, SW_ARRAY_SIZE(table), &id, &bad)) {
		sw_call_invalid(call, bad);
		return;
	}
	const struct sw_store_entry *entry = store != NULL ? sw_store_find(store, id) : NULL;
	/* A dump that the caller may not see is not found: its id would reveal when which process
	 * was dumped. */
	if (entry == NULL ||
	    !sw_methods_may_see(methods, &call->connection->caller, &entry->subject)) {
		sw_call_error(call, SW_INTERFACE ".NoSuchDump", sw_object_string("id", id));
		return;
	}
	if (!sw_dump_may_answer(call, entry->dump_bytes)) /* before it is unpacked */
		return;
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
