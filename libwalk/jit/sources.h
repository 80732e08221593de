/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_JIT_SOURCES_H
#define SW_JIT_SOURCES_H

#include "jit/common/source.h"

/* The sources of generated code, in order of preference, and their wire names in the same order; both
 * end with NULL. */
extern const struct sw_jit_source_ops *const sw_jit_sources[];
extern const char *const sw_jit_source_names[];
extern const size_t sw_n_jit_sources;

#endif
