/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_GO_INLINED_H
#define SW_GO_INLINED_H

#include "runtimes/go/go.h"

/* A function that an instruction belongs to: inlined, or the outermost one. */
struct sw_go_level {
	const char *name, *file; /* borrowed from the table */
	uint32_t line;
};

/* The functions at off of the code, innermost first, the last one func itself. Returns how many: 1
 * to max. */
size_t sw_go_levels(const struct sw_go_module *module, const struct sw_go_func *func, uint64_t off,
		    struct sw_go_level *ret, size_t max);

#endif
