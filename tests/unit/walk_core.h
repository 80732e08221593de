/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef WALK_CORE_H
#define WALK_CORE_H

#include <snapwalk/walk.h>

/* Walks all threads of a core file of these bytes, if it is one. */
void walk_core(const uint8_t *data, size_t size, const struct sw_walk_options *options);

/* The same by another walk, sw_walk_libunwind(). */
typedef int walk_core_fn(const struct sw_snapshot *snap, const struct sw_walk_options *options,
			 struct sw_walks **ret, struct sw_error *err);
void walk_core_by(const uint8_t *data, size_t size, walk_core_fn *walk,
		  const struct sw_walk_options *options);

#endif
