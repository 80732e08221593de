/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_TEXT_CRASH_H
#define SW_TEXT_CRASH_H

#include "report/text/put.h"

/* "SIGSEGV: write to 0x0 by worker (12): not mapped" and the end of the line; nothing when it did
 * not crash. */
void sw_text_crash(struct sw_text_writer *writer);

#endif
