/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_REPORT_WAITS_H
#define SW_REPORT_WAITS_H

#include "report/builder.h"

/* What each thread waits for. Needs threads and stacks, and names for futexes. */
void sw_report_build_waits(struct sw_report_builder *builder);

#endif
