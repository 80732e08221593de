/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_REPORT_CRASH_H
#define SW_REPORT_CRASH_H

#include "report/builder.h"
#include "report/text_put.h"

/* process.crash of the report. */
void sw_report_build_crash(struct sw_report_builder *builder);

/* "SIGSEGV: write to 0x0 by worker (12): not mapped" and the end of the line; nothing when it did not
 * crash. */
void sw_text_crash(struct sw_text_writer *writer);

#endif
