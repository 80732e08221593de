/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PROCESS_THREAD_RINGS_H
#define SW_PROCESS_THREAD_RINGS_H

#include "memory.h"

#include <snapwalk/thread_ends.h>

/* How many entries of rings are read for one answer, over all tries. A process has at most 32,768 stacks of threads: each
 * needs two of the 65,530 mappings that vm.max_map_count allows by default. */
enum { SW_THREAD_RINGS_NODES_MAX = 1 << 18 };

/*
 * As sw_thread_ends(), from any memory. The deadline is that of sw_clock_ns(); a read may take as long as the memory lets
 * it.
 *
 * @return 0; -SW_E_UNSUPPORTED; -SW_E_TIMEOUT; -SW_E_LIMIT; -SW_E_NOMEM.
 */
int sw_thread_rings_read(struct sw_memory memory, int64_t deadline_ns, const uint64_t *running_avma,
			 size_t n, struct sw_thread_end **ret, size_t *ret_n);

#endif
