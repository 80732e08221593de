/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each distinct address is looked up once; that nothing managed is there is remembered, too. */
#include "runtimes/clr/clr.h"

enum { CODES_MAX = 1 << 20 }; /* addresses that are remembered */

const struct sw_clr_code *sw_clr_code_find(struct sw_clr *clr, uint64_t pc_avma)
{
	uint64_t kept;
	struct sw_clr_code code;
	if (sw_map64_get(&clr->by_pc, pc_avma, &kept))
		return (const struct sw_clr_code *) (uintptr_t) kept;
	struct sw_clr_code *found = NULL;
	for (size_t i = 0; i < clr->n_runtimes && found == NULL; i++) {
		if (!sw_clr_range_find(&clr->runtimes[i], clr->memory, pc_avma, &code))
			continue;
		found = sw_arena_alloc(&clr->arena, sizeof(*found));
		if (found == NULL)
			return NULL;
		*found = code;
	}
	if (clr->by_pc.count < CODES_MAX)
		(void) sw_map64_put(&clr->by_pc, pc_avma,
				    (uintptr_t) found); /* lost: it is looked up again */
	return found;
}
