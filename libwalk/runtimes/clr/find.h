/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_FIND_H
#define SW_CLR_FIND_H

#include "runtimes/clr/code/clr.h"

/* Whether one may be there: all of them make code, and are in an ELF file of some size. */
bool sw_clr_probe(const struct sw_snapshot *snap);

/* Finds the runtimes of the snapshot: those of modules that export a descriptor or the table for
 * debuggers. Asks no module where all code is that of ELF files; only_likely: asks the program and
 * files with the runtime's name alone. 0, -SW_E_NOMEM. */
int sw_clr_runtimes_find(const struct sw_snapshot *snap, struct sw_memory memory, bool only_likely,
			 struct sw_clr_runtime runtimes[SW_CLR_RUNTIMES_MAX], size_t *ret_n);
void sw_clr_runtimes_deinit(struct sw_clr_runtime *runtimes, size_t n);

#endif
