/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_DAEMON_STREAM_H
#define SW_CLI_DAEMON_STREAM_H

#include "text.h"

#include <snapwalk/varlink.h>

enum {
	SW_STREAM_ARRAYS = 8,
	SW_STREAM_BYTES_MAX = 128 << 20, /* of a dump: twice what DumpMax= is by default */
};

/* The answers to Capture or Read with 'more', on their way to be one dump, or one profile. */
struct sw_stream {
	struct sw_text head; /* the dump without its arrays */
	struct sw_text arrays[SW_STREAM_ARRAYS];
	struct sw_text dump;         /* it came whole */
	struct json_object *summary; /* owned; NULL: not yet */
	bool coalesced;
};

void sw_stream_deinit(struct sw_stream *stream);
/* Takes the parameters of an answer, an object. 0; -SW_E_FORMAT; -SW_E_LIMIT; -SW_E_NOMEM. */
int sw_stream_take(struct sw_stream *stream, const char *text, size_t size, struct sw_error *err);
/* By the summary, which comes last. */
bool sw_stream_is_profile(const struct sw_stream *stream);
/* The dump as JSON, malloc'ed. 0; -SW_E_FORMAT: parts are missing; -SW_E_NOMEM. */
int sw_stream_finish(struct sw_stream *stream, char **ret_text, size_t *ret_size,
		     struct sw_error *err);

#endif
