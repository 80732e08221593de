/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_TEXT_WAITS_H
#define SW_TEXT_WAITS_H

#include "report/text/put.h"

/* "sleeping in futex (futex_wait_queue)" */
void sw_text_wait(struct sw_text_writer *w, const struct sw_report_thread *thread);
/* " for the monitor com.shop.Stock@0x6d3a8, which http-9 (4303) has"; nothing when it is not known.
 */
void sw_text_wait_for(struct sw_text_writer *w, const struct sw_report_thread *thread);
/* The kinds of waits that have words of their own; NULL: there are no more. */
const char *sw_text_wait_kind(size_t index);
/* Whether what is waited for is an object of a runtime's. */
bool sw_waits_for_object(const struct sw_report_wait *wait);
/* The process or the thread that has what is waited for, behind a word; false, and nothing: none is
 * known. */
bool sw_put_owner(struct sw_text_writer *w, const char *before, const struct sw_report_wait *wait);
/* Whether the signal that ended the process came from another one: its thread has done nothing
 * then. */
bool sw_signal_was_sent(const struct sw_report *report);
/* The state of a thread for which others wait, behind the comma after its name: "asleep for 1.6 s
 * (wakes in 9 min)", "sleeping in read for 3.0 s", "waiting 14 min for db (99) (pipe)". */
void sw_text_state(struct sw_text_writer *w, const struct sw_report_thread *thread);
/* The waits of the threads of one stack: " wait 12–14 min for a mutex, which a (12) has; sleeping
 * in futex"
 */
void sw_text_waits(struct sw_text_writer *w, const size_t *threads, size_t n_threads);

#endif
