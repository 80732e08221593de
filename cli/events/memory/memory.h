/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_MEMORY_H
#define SW_CLI_MEMORY_H

#include "common/options.h"
#include "run/started.h"

/*
 * leaks --of memory: the memory that a process asks the kernel for, by its stacks, and the blocks that its allocator hands
 * out, where following them is within --max-overhead.
 */

/* SW_STATUS_*; complains by itself. */
int sw_memory_leaks(const struct sw_options *options);

#endif
