/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "methods/stream.h"
#include "rpc/space.h"
#include "cleanup.h"

enum { RETRY_MS = 1000 };

bool sw_dump_may_answer(struct sw_call *call, size_t bytes)
{
	const struct sw_connection *connection = call->connection;
	bool may = call->message.more ? sw_server_may_hold(connection->server, connection, bytes)
				      : sw_server_may_send(connection->server, connection, bytes);
	if (!may)
		sw_call_error(call, SW_INTERFACE ".Busy", sw_object_busy(RETRY_MS, "queue"));
	return may;
}

void sw_dump_stream_begin(struct sw_dump_stream *stream, struct sw_call *call, struct sw_dump *dump,
			  enum sw_coalesced coalesced)
{
	if (!sw_dump_may_answer(call, dump->size))
		return;
	sw_dump_stream_deinit(stream);
	stream->dump = sw_dump_ref(dump);
	stream->coalesced = coalesced;
	call->held_bytes = dump->size;
	sw_connection_kick(call->connection); /* which pumps */
}

void sw_dump_stream_deinit(struct sw_dump_stream *stream)
{
	sw_dump_unref(stream->dump);
	*stream = (struct sw_dump_stream){0};
}

static void too_large(struct sw_call *call, size_t bytes)
{
	sw_call_error(call, SW_INTERFACE ".TooLarge", sw_object_int("bytes", (int64_t) bytes));
}

enum sw_streamed sw_dump_stream_next(struct sw_dump_stream *stream, struct sw_call *call, bool last)
{
	struct sw_text text = {0};
	int r = sw_dump_next(stream->dump, &stream->cursor, stream->coalesced, &text);
	if (r < 0) {
		sw_text_deinit(&text);
		too_large(call, stream->dump->size);
		return SW_STREAMED_ERROR;
	}
	/* The final reply frees the call, and with it the stream. */
	if (r == 0) {
		sw_dump_stream_deinit(stream);
		call->held_bytes = 0;
	}
	sw_call_reply_text(call, &text, r > 0 || !last);
	return r > 0 ? SW_STREAMED_PART : SW_STREAMED_ALL;
}

void sw_dump_send_whole(struct sw_dump *dump, struct sw_call *call, enum sw_coalesced coalesced)
{
	struct sw_text text = {0};
	if (!sw_dump_may_answer(call, dump->size))
		return;
	if (sw_dump_whole(dump, coalesced, &text) == 0)
		sw_call_reply_text(call, &text, false);
	else
		too_large(call, dump->size);
}
