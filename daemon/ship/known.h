/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_SHIP_KNOWN_H
#define SW_DAEMON_SHIP_KNOWN_H

#include "map.h"

#include <stdbool.h>

/*
 * Ids that need no reading: they are in the spool, done, or about to be read. Of the oldest some are forgotten, so that
 * the memory has a bound: at least SW_SHIP_DONE_MAX of the newest are remembered. By 64-bit hashes: two ids of a
 * daemon's store of 10^6 have the same one with a probability of 3 in 10^8.
 */
struct sw_ship_known { /* zero-initialised is empty */
	struct sw_map64 young, old;
};

bool sw_ship_known_has(const struct sw_ship_known *known, const char *id);
/* 0; -SW_E_NOMEM. */
int sw_ship_known_add(struct sw_ship_known *known, const char *id);
void sw_ship_known_deinit(struct sw_ship_known *known);

#endif
