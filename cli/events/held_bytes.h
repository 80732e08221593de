/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_HELD_BYTES_H
#define SW_CLI_HELD_BYTES_H

#include "text.h"

/* "0 B", "52 KiB", "1.2 GiB"; in at least so many columns. */
void sw_held_bytes_put(struct sw_text *text, double bytes, int columns);

#endif
