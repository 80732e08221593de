/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_REPORT_HINTS_H
#define SW_REPORT_HINTS_H

#include "report/builder.h"

void sw_report_build_hints(struct sw_report_builder *b); /* after stacks and the process */
/* Hints about symbols of files are made anew, after files were asked for them; the others stay. */
void sw_report_renew_hints(struct sw_report_builder *b);

#endif
