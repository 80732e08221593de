/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SNAPWALK_ALLOCATIONS_H
#define SNAPWALK_ALLOCATIONS_H

/* The profile of allocations that a runtime keeps of itself, as it stands in its memory. */

#include <snapwalk/snapshot.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Allocations of one stack and size, of those that the runtime has sampled. */
struct sw_allocations_bucket {
	uint64_t allocs, frees, alloc_bytes, free_bytes;
	size_t first_pc, n_pcs; /* of pcs: return addresses, innermost first */
};

struct sw_allocations {
	uint64_t
		rate_bytes; /* one sample each so many bytes, on average; 1: each allocation is there */
	struct sw_allocations_bucket *buckets; /* owned, as the following */
	size_t n;
	uint64_t *pcs;
	size_t n_pcs;
	bool cut; /* there are more buckets than are read */
};

/**
 * Reads runtime.mbuckets of a program in Go, as runtime.MemProfile() does: what was allocated up to the last but one end of a
 * collection, and where there was none, all. Of a process that runs a bucket may be counted while it changes. Parses: not for a process with privileges over others.
 *
 * @param snap  Of sw_snapshot_maps(), of a process that is there.
 * @param ret   Set only on success; free with sw_allocations_destroy().
 * @return 0; -SW_E_NOT_FOUND: no program in Go; -SW_E_UNSUPPORTED: it keeps no profile, or does not say where, with the reason;
 *         -SW_E_IO, -SW_E_NOMEM.
 * Source: src/runtime/mprof.go, go1.19.8 to go1.25.
 */
SW_PUBLIC int sw_go_allocations_read(const struct sw_snapshot *snap, struct sw_allocations **ret,
				     struct sw_error *err);
/** NULL is allowed. */
SW_PUBLIC void sw_allocations_destroy(struct sw_allocations *allocations);

#ifdef __cplusplus
}
#endif

#endif
