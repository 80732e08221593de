/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_TOP_PLACE_H
#define SW_CLI_TOP_PLACE_H

#include "text.h"

#include <snapwalk/protocol.h>

/* Where a thread of a report is, in the lines that sw_top_thread.place has. ret is empty before. */
void sw_top_place(const struct sw_report *report, const struct sw_report_thread *thread,
		  struct sw_text *ret);

#endif
