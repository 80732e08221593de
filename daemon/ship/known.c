/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ship/known.h"
#include "ship/spool.h"

#include <string.h>
#include <xxhash.h>

static uint64_t hash_of(const char *id)
{
	return XXH3_64bits(id, strlen(id));
}

bool sw_ship_known_has(const struct sw_ship_known *known, const char *id)
{
	uint64_t ignored;
	return sw_map64_get(&known->young, hash_of(id), &ignored) ||
	       sw_map64_get(&known->old, hash_of(id), &ignored);
}

int sw_ship_known_add(struct sw_ship_known *known, const char *id)
{
	if (known->young.count >= SW_SHIP_DONE_MAX) {
		sw_map64_deinit(&known->old);
		known->old = known->young;
		known->young = (struct sw_map64){0};
	}
	return sw_map64_put(&known->young, hash_of(id), 1);
}

void sw_ship_known_deinit(struct sw_ship_known *known)
{
	sw_map64_deinit(&known->young);
	sw_map64_deinit(&known->old);
}
