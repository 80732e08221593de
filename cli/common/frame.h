/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_FRAME_H
#define SW_CLI_FRAME_H

#include <snapwalk/protocol.h>

#include "text.h"

/* The name of a frame's module without its directories; "": it has none. Borrowed from the report. */
const char *sw_frame_module_name(const struct sw_report *report, const struct sw_report_frame *f);
/* Appends a frame's function, else its module and offset, else its address. Control characters are replaced. */
void sw_frame_put_name(struct sw_text *text, const struct sw_report *report,
		       const struct sw_report_frame *f);

#endif
