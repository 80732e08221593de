/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_SEEN_H
#define SW_HOTSPOT_SEEN_H

#include "map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Addresses that were dealt with in the window, in memory that was set aside before it. */
enum { SW_HOTSPOT_SEEN_SLOTS = 8192 }; /* power of two; half of them are used at most */

struct sw_hotspot_seen {
	uint64_t slots[SW_HOTSPOT_SEEN_SLOTS];
	size_t n;
};

/* True on first sight of an address, and when there are too many: then false. */
static inline bool sw_hotspot_is_new(struct sw_hotspot_seen *seen, uint64_t avma)
{
	size_t i = (size_t) sw_mix64(avma) % SW_HOTSPOT_SEEN_SLOTS;
	while (seen->slots[i] != 0 && seen->slots[i] != avma)
		i = (i + 1) % SW_HOTSPOT_SEEN_SLOTS;
	if (seen->slots[i] == avma || seen->n >= SW_HOTSPOT_SEEN_SLOTS / 2)
		return false;
	seen->slots[i] = avma;
	seen->n++;
	return true;
}

#endif
