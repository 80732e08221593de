/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_DAEMON_CALL_H
#define SW_CLI_DAEMON_CALL_H

#include "common/complain.h"
#include "common/options.h"
#include "common/waiting.h"
#include "text.h"
#include "daemon/complaint.h"

#include <snapwalk/varlink.h>

/* --socket, SNAPWALK_SOCKET, /run/snapwalk/io.snapwalk; and when that is not there, the one of a
 * daemon of the user's own. */
enum { SW_SOCKET_PATH_SIZE = 108 }; /* sun_path, unix(7) */
const char *sw_daemon_path(const struct sw_options *options, char buffer[SW_SOCKET_PATH_SIZE]);
bool sw_daemon_listens(const struct sw_options *options);
/* The same, if the socket is another user's: a daemon of our own user has no other rights than we have. */
bool sw_daemon_of_others_listens(const struct sw_options *options);

/* Takes one answer of a call; its parameters are borrowed. True: go on. False: it is enough, or
 * *complaint says why not. */
typedef bool sw_daemon_take_fn(void *arg, struct json_object *parameters,
			       struct sw_complaint *complaint);

/*
 * A call with its answers, one after another.
 *
 * @param parameters  Consumed; NULL: out of memory.
 * @param more        Several answers are asked for. Without it, a daemon that has more than one is refused.
 * @param wait_ms     The longest time until the last answer; < 0: none is too long.
 * @return true; false with *ret_why filled.
 */
bool sw_daemon_call(const struct sw_options *options, const char *method,
		    struct json_object *parameters, bool more, int wait_ms, sw_daemon_take_fn *take,
		    void *arg, struct sw_complaint *ret_why);

/*
 * The same for answers that may be large, which come as the text of an object, borrowed. They are several, each at most
 * wait_ms after the one before, and the last one four times as late. All together have at most 256 MiB.
 *
 * @param stop  When such a signal comes before the first answer, the daemon is told that nothing more will be sent, by
 *              shutdown(2), and its answer is waited for; a second signal ends that. NULL: none.
 */
typedef bool sw_daemon_take_text_fn(void *arg, const char *text, size_t size,
				    struct sw_complaint *complaint);
bool sw_daemon_call_text(const struct sw_options *options, const char *method,
			 struct json_object *parameters, int wait_ms, struct sw_stop_signals *stop,
			 sw_daemon_take_text_fn *take, void *arg, struct sw_complaint *ret_why);

/* json_object_object_add() that consumes the value in any case; false: out of memory. */
bool sw_json_add(struct json_object *object, const char *name, struct json_object *value);
/* The value of a member: "" or 0 when it is not there or of another type. Borrowed. */
const char *sw_json_string(struct json_object *object, const char *name);
int64_t sw_json_int(struct json_object *object, const char *name);

#endif
