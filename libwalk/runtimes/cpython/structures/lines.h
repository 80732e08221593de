/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_LINES_H
#define SW_CPYTHON_LINES_H

#include "bytes.h"

/*
 * The line of an instruction, by its offset in bytes; first_line for an offset below 0. 0 when it has
 * none, or the table does not say it.
 */
uint32_t sw_cpython_line(unsigned minor, struct sw_bytes table, uint32_t first_line,
			 int64_t offset);

#endif
