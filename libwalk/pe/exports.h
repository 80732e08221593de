/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PE_EXPORTS_H
#define SW_PE_EXPORTS_H

#include "memory.h"

/* The exports of an image by name, read from the process's memory, where they need not be as in its
 * file. */
enum { SW_PE_EXPORTS_MAX = 65536 };

struct sw_pe_exports {
	struct sw_memory memory; /* borrowed */
	uint64_t base_avma;
	uint32_t n_functions, n_names;
	uint32_t functions_rva, names_rva, ordinals_rva;
};

/* False: there is no image for x86-64, it exports nothing, or more than SW_PE_EXPORTS_MAX names. */
bool sw_pe_exports_open(struct sw_memory memory, uint64_t base_avma, struct sw_pe_exports *ret);

/* The address of what has that name; 0: nothing has. */
uint64_t sw_pe_export_find(const struct sw_pe_exports *e, const char *name);

#endif
