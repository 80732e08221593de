/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_FUNCTIONS_H
#define SW_CPYTHON_FUNCTIONS_H

#include "snapshot/module.h"

/*
 * Functions of the interpreter by what they say of the program. The loop that executes code, and what
 * calls and is called for it, say nothing; all others do.
 */
enum sw_cpython_function {
	SW_CPYTHON_UNNAMED, /* no symbol: a static function of a file without .symtab */
	SW_CPYTHON_OTHER,
	SW_CPYTHON_GLUE,
	SW_CPYTHON_LOOP,
};

struct sw_cpython_range {
	uint64_t start_svma, end_svma;
	enum sw_cpython_function what; /* where name_off is 0 */
	uint32_t name_off;             /* of names */
};

struct sw_cpython_functions {
	struct sw_bytes names; /* the module's */
	size_t n;
	struct sw_cpython_range all[]; /* by start */
};

/* The functions of a module are found once and kept with the module. Returns NULL when there is no
 * memory. */
const struct sw_cpython_functions *sw_cpython_functions(struct sw_module *module);

enum sw_cpython_function sw_cpython_function(const struct sw_cpython_functions *functions,
					     uint64_t svma);

/* By its name; that of a part ends with ".cold" or the like. */
enum sw_cpython_function sw_cpython_function_named(const char *name);

#endif
