/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_NAMING_ADDRESSES_H
#define SW_NAMING_ADDRESSES_H

#include "map.h"

#include <snapwalk/finder.h>

/* Distinct addresses that names are asked for. Zero-initialised is a valid empty set. */
struct sw_naming_addresses {
	struct sw_address *all; /* owned */
	size_t n, capacity;
	struct sw_map64 by_hash; /* owned; hash -> number */
};

void sw_naming_addresses_deinit(struct sw_naming_addresses *addresses);
/* False: out of memory. */
bool sw_naming_addresses_add(struct sw_naming_addresses *addresses, const struct sw_address *a);
/* False: it was not added. */
bool sw_naming_addresses_find(const struct sw_naming_addresses *addresses,
			      const struct sw_address *a, uint64_t *ret_number);

#endif
