/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_REPORT_BUILD_H
#define SW_REPORT_BUILD_H

#include "report/builder.h"

/* Parts of a report: a file each. Stacks come after modules and threads. */

void sw_report_build_process(struct sw_report_builder *b, const struct sw_report_options *options);

void sw_report_build_stacks(struct sw_report_builder *b); /* after modules and threads */
void sw_report_build_warnings(struct sw_report_builder *b);
void sw_report_build_hints(struct sw_report_builder *b); /* after stacks and the process */
/* Those about symbols of files, after files were asked for them; the others stay. */
void sw_report_renew_hints(struct sw_report_builder *b);
/* What was not named in time, of n_addresses; and whether the report is complete, which it may not have been for that. */
void sw_report_renew_warnings(struct sw_report_builder *b, size_t n_unfinished, size_t n_addresses);

#endif
