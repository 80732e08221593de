/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_JIT_HOOKS_H
#define SW_JIT_HOOKS_H

#include "jit/common/source.h"

/* The hooks of all sources, in the order of sw_jit_sources. */
extern const struct sw_jit_hook_ops *const sw_jit_hook_table[];
extern const size_t sw_n_jit_hooks;

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
