/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_BASE_DURATION_H
#define SW_BASE_DURATION_H

#include <stddef.h>
#include <stdint.h>

enum { SW_DURATION_BYTES = 32, SW_DURATION_RANGE_BYTES = 72 };

/* "40 ms", "5.5 s", "81 s", "14 min", "25 h", "3 days": for people, of no more digits than they read. What
 * has passed by half is not counted. */
void sw_duration_format(char ret[static SW_DURATION_BYTES], int64_t ms);
/* "12–14 min", "40 s – 14 min"; one of them when both look the same. */
void sw_duration_format_range(char ret[static SW_DURATION_RANGE_BYTES], int64_t least_ms,
			      int64_t most_ms);

#endif
