/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PROFILE_PUT_H
#define SW_PROFILE_PUT_H

#include "text.h"

#include <stdint.h>

/* The parts that several writers put. */

/* A string in JSON, with its quotes; s is valid UTF-8. Nothing in it ends a script element, where
 * the page has its data: '<', '>' and '&' are escaped. */
void sw_put_json(struct sw_text *text, const char *s);

/* Nanoseconds as milliseconds with three digits behind the point, whatever the locale. */
void sw_put_ms(struct sw_text *text, uint64_t ns);

/* CLOCK_REALTIME as "2026-11-20T10:35:50Z". */
void sw_put_time(struct sw_text *text, int64_t time_ns);

#endif
