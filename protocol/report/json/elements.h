/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_JSON_ELEMENTS_H
#define SW_JSON_ELEMENTS_H

#include "text.h"

#include <snapwalk/protocol.h>

/*
 * The elements that a dump in JSON consists of, each appended to a text. Names are literals; strings are made valid UTF-8.
 * Without memory text->failed is set. No tree is made of them: it would take three times as long as the text.
 */

/* All fields of the dump but its four arrays: schema ... host, process, timings. */
void sw_report_json_head(struct sw_text *text, const struct sw_report *report);
/* The members that a kept profile has, too, each behind a comma: id, time, reason if there is one, complete, process, timings. */
void sw_report_json_shared(struct sw_text *text, const struct sw_report *report);
void sw_report_json_deadlock(struct sw_text *text, const struct sw_report_deadlock *deadlock);
void sw_report_json_task_wait(struct sw_text *text, const struct sw_report_task_wait *wait);
void sw_report_json_task_deadlock(struct sw_text *text, const struct sw_report *report,
				  const struct sw_report_task_deadlock *deadlock);
void sw_report_json_peer(struct sw_text *text, const struct sw_report_peer *peer);
void sw_report_json_holder(struct sw_text *text, const struct sw_report_holder *holder);
void sw_report_json_thread(struct sw_text *text, const struct sw_report_thread *thread);
/* All fields of the stack but its frames. */
void sw_report_json_stack(struct sw_text *text, const struct sw_report *report,
			  const struct sw_report_stack *stack);
void sw_report_json_frame(struct sw_text *text, const struct sw_report_frame *frame);
void sw_report_json_module(struct sw_text *text, const struct sw_report_module *module);
void sw_report_json_warning(struct sw_text *text, const struct sw_report_warning *warning);
void sw_report_json_hint(struct sw_text *text, const struct sw_report_hint *hint);

#endif
