/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_TEXT_LIMITS_H
#define SW_TEXT_LIMITS_H

#include "report/text/put.h"

/* "1,020 of 1,024 descriptors are open · memory of the control group 99.6 % of 512 MiB, 3 processes were killed for it":
 * a line of the limits that the process is at; nothing where it is at none. */
void sw_text_limits(struct sw_text_writer *w);

#endif
