/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "naming/addresses.h"
#include "arena.h"

#include <stdlib.h>

static uint64_t hash_of(const struct sw_address *a)
{
	return sw_mix64(a->svma ^ sw_mix64((uintptr_t) a->module));
}

void sw_naming_addresses_deinit(struct sw_naming_addresses *s)
{
	free(s->all);
	sw_map64_deinit(&s->by_hash);
}

bool sw_naming_addresses_find(const struct sw_naming_addresses *s, const struct sw_address *a,
			      uint64_t *ret_number)
{
	return sw_map64_get(&s->by_hash, hash_of(a), ret_number) &&
	       s->all[*ret_number].module == a->module && s->all[*ret_number].svma == a->svma;
}

bool sw_naming_addresses_add(struct sw_naming_addresses *s, const struct sw_address *a)
{
	uint64_t number;
	if (sw_naming_addresses_find(s, a, &number))
		return true;
	struct sw_address *grown = sw_grow(s->all, s->n, &s->capacity, 256, sizeof(*grown));
	if (grown == NULL)
		return false;
	s->all = grown;
	s->all[s->n] = *a;
	return sw_map64_put(&s->by_hash, hash_of(a), s->n++) == 0;
}
