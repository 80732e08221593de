/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_GO_FIND_H
#define SW_GO_FIND_H

#include "runtimes/go/go.h"

/* By the memory that the runtime of Go reserves first, or by the program's file. */
bool sw_go_probe(const struct sw_snapshot *snap);

/* The files with Go code. Parses; each file once as long as the context lives. */
void sw_go_find(const struct sw_snapshot *snap, struct sw_go_modules *ret);

/* Whether the mapping may be where Go's heap begins, by its place and size. */
bool sw_go_may_be_heap(const struct sw_map *map);

#endif
