/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_REPORT_WARNINGS_H
#define SW_REPORT_WARNINGS_H

#include "report/builder.h"

void sw_report_build_warnings(struct sw_report_builder *b);
/* The warning about addresses that were not named in time is made anew, and whether the report is complete. */
void sw_report_renew_warnings(struct sw_report_builder *b, size_t n_unfinished, size_t n_addresses);

#endif
