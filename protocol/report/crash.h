/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_REPORT_CRASH_H
#define SW_REPORT_CRASH_H

#include "report/builder.h"

/* process.crash of the report. */
void sw_report_build_crash(struct sw_report_builder *builder);

#endif
