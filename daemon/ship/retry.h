/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_SHIP_RETRY_H
#define SW_DAEMON_SHIP_RETRY_H

#include <stdint.h>

/* How long to wait before something is tried again. */
struct sw_ship_retry {
	int64_t min_ms, max_ms;
	unsigned failures; /* in succession */
	uint64_t state;    /* of the random numbers */
};

void sw_ship_retry_init(struct sw_ship_retry *retry, int64_t min_ms, int64_t max_ms, uint64_t seed);
/* Another failure. asked_ms: what the other end wants, 0: nothing. The wait doubles with each failure, up to max_ms, and
 * is between a half and the whole of that; it is no less than asked_ms, and that counts up to max_ms. */
int64_t sw_ship_retry_next(struct sw_ship_retry *retry, int64_t asked_ms);
void sw_ship_retry_succeeded(struct sw_ship_retry *retry);

/* The value of the header Retry-After in ms from now on: seconds, or a date (RFC 9110, 10.2.3). 0: neither, or the past. */
int64_t sw_ship_retry_after(const char *value, int64_t now_s);

#endif
