/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_FTABLE_READ_H
#define SW_FTABLE_READ_H

#include "jit/ftable/record.h"
#include "memory.h"
#include "jit/ftable/record.h"

struct sw_ftables {
	struct sw_ftable *all; /* owned; the usable ones */
	size_t n, capacity;
	size_t n_dead, n_bad, n_busy;
	const char *problem; /* static: why not all are here; NULL */
};
void sw_ftables_deinit(struct sw_ftables *tables);

/*
 * Adds a registry's tables. still: a copy of its memory as it was at one instant, of which seq need
 * not be even. running: the process's memory as it is now, never from a cache, for what still does
 * not have; ops NULL: there is none. *bytes_left, of records, becomes less: registries may share
 * their chunks. 0, -SW_E_NOMEM.
 */
int sw_ftables_read(struct sw_memory still, struct sw_memory running, uint64_t registry_avma,
		    size_t *bytes_left, struct sw_ftables *ret);

/* Whether a table is now what it was when it was read. */
bool sw_ftable_unchanged(struct sw_memory running, const struct sw_ftable *table);

#endif
