/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_JSON_ELEMENTS_H
#define SW_JSON_ELEMENTS_H

#include "text.h"

#include <snapwalk/protocol.h>
#include <json-c/json.h>

/*
 * The elements that a dump in JSON consists of. Each is built, written and freed on its own, be it
 * into one text or as a message each, so that no more than one is ever held as a tree: a thousand
 * stacks have half a million values.
 *
 * The caller owns what it gets; json_object_put(). NULL: out of memory; never an object in which
 * something is missing, or null for want of memory. Keys are constants; strings are copied and
 * made valid UTF-8.
 */

/* All fields of the dump but its four arrays: schema ... host, process, timings. */
struct json_object *sw_report_json_head(const struct sw_report *report);
struct json_object *sw_report_json_deadlock(const struct sw_report_deadlock *deadlock);
struct json_object *sw_report_json_task_wait(const struct sw_report_task_wait *wait);
struct json_object *sw_report_json_task_deadlock(const struct sw_report *report,
						 const struct sw_report_task_deadlock *deadlock);
struct json_object *sw_report_json_peer(const struct sw_report_peer *peer);
struct json_object *sw_report_json_holder(const struct sw_report_holder *holder);
struct json_object *sw_report_json_thread(const struct sw_report_thread *thread);
/* All fields of the stack but its frames. */
struct json_object *sw_report_json_stack(const struct sw_report *report,
					 const struct sw_report_stack *stack);
struct json_object *sw_report_json_frame(const struct sw_report_frame *frame);
struct json_object *sw_report_json_module(const struct sw_report_module *module);
struct json_object *sw_report_json_warning(const struct sw_report_warning *warning);
struct json_object *sw_report_json_hint(const struct sw_report_hint *hint);

#endif
