/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_RUNTIME_H
#define SW_CLR_RUNTIME_H

#include "arena.h"
#include "runtimes/clr/layout.h"
#include "runtimes/clr/method.h"
#include "map.h"
#include "snapshot/snapshot.h"

/* One CoreCLR in the process. */
struct sw_clr_runtime {
	struct sw_place *place;          /* its module; borrowed */
	struct sw_clr_contract contract; /* json NULL: it has none */
	struct sw_clr_layout at;
	bool usable;       /* at is valid */
	char version[64];  /* "" when unknown */
	char problem[192]; /* why it is not usable, or what of it is not; "" when all is well */
};

enum { SW_CLR_RUNTIMES_MAX = 4 };

/* All of them, and what was found with their help. */
struct sw_clr {
	const struct sw_snapshot *snap;   /* borrowed */
	struct sw_snapshot_memory source; /* of memory */
	struct sw_memory memory;
	struct sw_clr_runtime runtimes[SW_CLR_RUNTIMES_MAX];
	size_t n_runtimes;
	bool double_mapped; /* see sw_clr_is_helper() */
	struct sw_arena arena;
	struct sw_map64 by_pc;   /* -> struct sw_clr_code, 0: not managed */
	struct sw_map64 rules;   /* pc << 1 | exact -> struct sw_pe_rule */
	struct sw_map64 hijacks; /* pc << 1 | exact -> 1 + distance behind OnHijackTripThread */
	uint64_t *threads;       /* Thread objects; the arena's */
	size_t n_threads, threads_capacity;
	bool threads_tried;
	struct sw_map64 replaced; /* slot on a stack -> address of what was there, in a Thread */
	bool replaced_tried;
	struct sw_clr_names *names; /* owned; NULL until the first name is asked for */
	struct sw_clr_notes *notes; /* owned; the same of threads */
};

/* Whether one may be there: all of them make code, and are in an ELF file of some size. */
bool sw_clr_probe(const struct sw_snapshot *snap);

/* Finds the runtimes of the snapshot: those of modules that export a descriptor or the table for
 * debuggers. Asks no module where all code is that of ELF files; only_likely: asks the program and
 * files with the runtime's name alone. 0, -SW_E_NOMEM. */
int sw_clr_runtimes_find(const struct sw_snapshot *snap, struct sw_memory memory, bool only_likely,
			 struct sw_clr_runtime runtimes[SW_CLR_RUNTIMES_MAX], size_t *ret_n);
void sw_clr_runtimes_deinit(struct sw_clr_runtime *runtimes, size_t n);

/* The code at an address, asked of one runtime and not cached. False: not its code. */
bool sw_clr_range_find(const struct sw_clr_runtime *runtime, struct sw_memory memory,
		       uint64_t pc_avma, struct sw_clr_code *ret);

#endif
