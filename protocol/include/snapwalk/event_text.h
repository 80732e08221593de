/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SNAPWALK_EVENT_TEXT_H
#define SNAPWALK_EVENT_TEXT_H

/* Events in words: names of system calls and errors, what a call is about, and an event as JSON. */

#include <snapwalk/event.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { SW_EVENT_DETAIL_BYTES = 320 };

/** Make a system call the event, with its path or address where the call has one. False: no call has that name. */
SW_PUBLIC bool sw_event_set_call(struct sw_event_options *options, const char *name);

/** "EMFILE" of 24; static. NULL: it has no name. */
SW_PUBLIC const char *sw_errno_name(int number);
/** 24 of "EMFILE"; 0: there is no such name. */
SW_PUBLIC int sw_errno_number(const char *name);

/** The result that the program sees: results of the kernel for a call that a signal has interrupted are EINTR. */
SW_PUBLIC int64_t sw_event_result(const struct sw_event *event);
/** Whether a result is an error. */
SW_PUBLIC bool sw_event_is_error(int64_t result);
/** When it happened, by CLOCK_REALTIME. */
SW_PUBLIC int64_t sw_event_real_ns(const struct sw_event *event);

/** A "sockaddr" in words: "10.0.3.7:5432", "/run/x.sock"; false: it is of another family, or cut. */
SW_PUBLIC bool sw_event_address(const void *bytes, size_t size, char *ret, size_t ret_size);
/** The path or address of a call; false: it has none. */
SW_PUBLIC bool sw_event_detail(const struct sw_event *event, char ret[SW_EVENT_DETAIL_BYTES]);

/** "write"; static. NULL: there is no such access. */
SW_PUBLIC const char *sw_event_access_name(enum sw_event_access access);

/** How an event is called in JSON: the member "call", "function" or "event", and its value. */
struct sw_event_naming {
	pid_t pid;
	const char *member, *name;
};
/**
 * Write the members of an event, "seq" first, without braces and without its stack.
 *
 * @param ret_text  The caller's; free().
 * @return 0; -SW_E_NOMEM.
 */
SW_PUBLIC int sw_event_json(const struct sw_event *event, const struct sw_event_naming *naming,
			    char **ret_text, size_t *ret_size, struct sw_error *err);

#ifdef __cplusplus
}
#endif

#endif
