/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_METHODS_STREAM_H
#define SW_DAEMON_METHODS_STREAM_H

#include "jobs/dump.h"
#include "rpc/call.h"

/* A dump on its way to a client; zero-initialised: none. */
struct sw_dump_stream {
	struct sw_dump *dump; /* owned reference; NULL: none */
	struct sw_dump_cursor cursor;
	enum sw_coalesced coalesced;
};

/* May the call be answered with so large a dump? False: its caller is slow in reading too many, which is said; the
 * call is freed. */
bool sw_dump_may_answer(struct sw_call *call, size_t bytes);
/* With "more": the call's pump sends it from now on, if it may be. */
void sw_dump_stream_begin(struct sw_dump_stream *stream, struct sw_call *call, struct sw_dump *dump,
			  enum sw_coalesced coalesced);
void sw_dump_stream_deinit(struct sw_dump_stream *stream);

enum sw_streamed {
	SW_STREAMED_PART,  /* there are more */
	SW_STREAMED_ALL,   /* with last: the call is freed */
	SW_STREAMED_ERROR, /* the call is freed */
};
/* Send the next reply. last: the call ends with the dump. */
enum sw_streamed sw_dump_stream_next(struct sw_dump_stream *stream, struct sw_call *call,
				     bool last);

/* Without "more": all in one reply, or TooLarge, if it may be sent. Frees the call. */
void sw_dump_send_whole(struct sw_dump *dump, struct sw_call *call, enum sw_coalesced coalesced);

#endif
