/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_DAEMON_H
#define SW_CLI_DAEMON_H

#include "complain.h"
#include "options.h"
#include "text.h"

#include <snapwalk/varlink.h>

/* ---- what went wrong (daemon_errors.c) ------------------------------------------------------- */

/* As sw_complain() wants it. */
struct sw_complaint {
	const char *code; /* static */
	char message[SW_ERROR_MESSAGE_MAX];
	char remedy[192];
	int status; /* SW_STATUS_* */
};

/* An error of the connection, or of what came over it. */
void sw_complaint_of_error(struct sw_complaint *ret, const struct sw_error *err);
/* An error that the daemon answered with: io.snapwalk.NotPermitted and so on. */
void sw_complaint_of_answer(struct sw_complaint *ret, const struct sw_varlink_answer *answer);
/* Says it; returns its status. */
int sw_complain_about(const char *about, const struct sw_complaint *complaint);

/* ---- calls (daemon_call.c) ------------------------------------------------------------------- */

/* --socket, SNAPWALK_SOCKET, /run/snapwalk/io.snapwalk; and when that is not there, the one of a
 * daemon of the user's own. */
enum { SW_SOCKET_PATH_SIZE = 108 }; /* sun_path, unix(7) */
const char *sw_daemon_path(const struct sw_options *options, char buffer[SW_SOCKET_PATH_SIZE]);
bool sw_daemon_listens(const struct sw_options *options);

/* Takes one answer of a call; its parameters are borrowed. True: go on. False: it is enough, or
 * *complaint says why not. */
typedef bool sw_daemon_take_fn(void *arg, struct json_object *parameters,
			       struct sw_complaint *complaint);

/*
 * A call with its answers, one after another.
 *
 * @param parameters  Consumed; NULL: out of memory.
 * @param wait_ms     The longest silence; < 0: none is too long.
 * @return true; false with *ret_why filled.
 */
bool sw_daemon_call(const struct sw_options *options, const char *method,
		    struct json_object *parameters, bool more, int wait_ms, sw_daemon_take_fn *take,
		    void *arg, struct sw_complaint *ret_why);

/* json_object_object_add() that consumes the value in any case; false: out of memory. */
bool sw_json_add(struct json_object *object, const char *name, struct json_object *value);
/* Of a member: "" or 0 when it is not there or something else. Borrowed. */
const char *sw_json_string(struct json_object *object, const char *name);
int64_t sw_json_int(struct json_object *object, const char *name);

/* ---- dumps in pieces (daemon_stream.c) ------------------------------------------------------- */

/* The answers to Capture or Read with 'more', on their way to be one dump. */
struct sw_stream {
	struct sw_text head; /* the dump without its arrays */
	struct sw_text threads, stacks, modules, warnings;
	char *dump;                  /* owned; it came whole */
	struct json_object *summary; /* owned; NULL: not yet */
	bool coalesced;
};

void sw_stream_deinit(struct sw_stream *stream);
/* 0; -SW_E_FORMAT; -SW_E_LIMIT; -SW_E_NOMEM. */
int sw_stream_take(struct sw_stream *stream, struct json_object *parameters, struct sw_error *err);
/* The dump as JSON, malloc'ed. 0; -SW_E_FORMAT: pieces are missing; -SW_E_NOMEM. */
int sw_stream_finish(struct sw_stream *stream, char **ret_text, size_t *ret_size,
		     struct sw_error *err);

/* ---- dumps (daemon_dump.c) ------------------------------------------------------------------- */

struct sw_daemon_dump {
	char *text; /* owned; JSON */
	size_t size;
	struct sw_report *report; /* owned; NULL: it is complete and printed as it came */
	char id[128], comm[64];
	int64_t time_ns; /* CLOCK_REALTIME; 0: unknown */
	bool coalesced, stored, complete;
};

void sw_daemon_dump_deinit(struct sw_daemon_dump *dump);
/* Asks for a capture. False with *ret_why filled. */
bool sw_daemon_capture(const struct sw_options *options, pid_t pid, const char *reason,
		       struct sw_daemon_dump *ret, struct sw_complaint *ret_why);
/* A dump that is kept. */
bool sw_daemon_read(const struct sw_options *options, const char *id, struct sw_daemon_dump *ret,
		    struct sw_complaint *ret_why);
/* A dump that was made for somebody else, before begin_ns (CLOCK_REALTIME): says so. */
void sw_daemon_say_coalesced(const char *about, const struct sw_daemon_dump *dump,
			     int64_t begin_ns);

/* ---- lines about dumps (daemon_row.c) -------------------------------------------------------- */

void sw_row_header(struct sw_text *text);
/* One line for io.snapwalk's Summary. */
void sw_row(struct sw_text *text, struct json_object *summary);
/* A line of JSON. */
void sw_row_json(struct sw_text *text, struct json_object *object);

#endif
