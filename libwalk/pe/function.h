/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PE_FUNCTION_H
#define SW_PE_FUNCTION_H

#include "memory.h"

#include <snapwalk/walk.h>

/* Where code of an image begins, by its function table; entries are not looked into. */
struct sw_pe_code {
	/* The start of the function; without an entry, the end of the function before: it may begin
	 * later. */
	uint64_t start_avma;
	bool has_entry;
};

/* False: avma is not in the image that lies at place, or its table cannot be read. */
bool sw_pe_code_at(struct sw_memory memory, const struct sw_place *place, uint64_t avma,
		   struct sw_pe_code *ret);

#endif
