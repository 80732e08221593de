/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_REPORT_BUILD_H
#define SW_REPORT_BUILD_H

#include "report/builder.h"

/* Parts of a report: a file each. Stacks come after modules and threads. */

void sw_report_build_process(struct sw_report_builder *b, const struct sw_report_options *options);

void sw_report_build_stacks(struct sw_report_builder *b); /* after modules and threads */

#endif
