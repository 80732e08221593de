/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_TEXT_TRACES_H
#define SW_TEXT_TRACES_H

#include "report/text/put.h"

/* "GET /order, trace 4bf92f3577b34da6a3ce929d0e0e4736, for 31 s": the request of a thread that has one. */
void sw_put_trace(struct sw_text_writer *w, const struct sw_report_thread *thread);

/* In the verdict: the requests whose threads wait for longest, a line for each. */
void sw_text_traces(struct sw_text_writer *w);

#endif
