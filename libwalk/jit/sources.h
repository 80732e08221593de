/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_JIT_SOURCES_H
#define SW_JIT_SOURCES_H

#include "jit/common/source.h"

/* The sources of generated code, in order of preference, and their wire names in the same order; both
 * end with NULL. */
extern const struct sw_jit_source_ops *const sw_jit_sources[];
extern const char *const sw_jit_source_names[];
extern const size_t sw_n_jit_sources;

/* The roots that lead to the registries of all sources, one source after the other. */
struct sw_jit_roots {
	struct sw_jit_root *all;
	size_t n;
	size_t first[SW_JIT_SOURCES_MAX], count[SW_JIT_SOURCES_MAX];
	bool limited; /* there are more */
};

/* Finds them in all modules; a->all is from the arena. 0, -SW_E_NOMEM. */
int sw_jit_roots_make(const struct sw_snapshot *snap, struct sw_arena *arena,
		      struct sw_jit_roots *a);

#endif
