/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_SEARCH_FUNCTIONS_H
#define SW_SEARCH_FUNCTIONS_H

#include "symtab.h"

#include <snapwalk/symbolize.h>

/* The receiver of the functions of a symbol table, and when the search is given up. */
struct sw_function_listing {
	int64_t deadline_ns; /* 0: none */
	uint64_t symbols_max;
	void (*each)(void *arg, const struct sw_function_symbol *symbol);
	void *arg;
};

/* Tells of each function of a table, and adds how many there were to *n. A table that is not looked through to its end is an
 * error: 0; -SW_E_LIMIT; -SW_E_TIMEOUT; -SW_E_NOMEM. */
int sw_function_table_list(const struct sw_function_listing *listing, const struct sw_symtab *table,
			   size_t *n, struct sw_error *err);

#endif
