/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_JIT_LIBGCC_TABLES_H
#define SW_JIT_LIBGCC_TABLES_H

#include "cfi/fde.h"
#include "jit/libgcc/known.h"
#include "jit/libgcc/known.h"
#include "map.h"
#include "snapshot/read.h"

/* How it is known what a table had in the stop. */
enum sw_jit_libgcc_trust {
	SW_JIT_LIBGCC_COPIED, /* it was copied then */
	SW_JIT_LIBGCC_LIVE,   /* read after it: registered and the same before and after */
	SW_JIT_LIBGCC_TORN,   /* it is not: what it may be about, and nothing else */
	SW_JIT_LIBGCC_TRUSTS,
};

/* A list or a tree. */
struct sw_jit_libgcc_registry {
	const struct sw_jit_root *root;
	size_t n_fdes;
	size_t n_bad; /* tables that could not be read, or are damaged */
	enum sw_jit_libgcc_end end;
};

/* After the stop: the tables of all lists and trees of a process, read once. */
struct sw_jit_libgcc_tables {
	const struct sw_snapshot *snap;
	struct sw_jit_libgcc_known *known; /* what the hooks found; NULL: nothing */
	const struct sw_jit_root *roots;
	size_t n_roots;
	bool loaded;
	bool live;            /* not all of it was copied in the stop */
	bool nomem, too_much; /* not all of it is here */
	bool torn;            /* nor this, which was asked for */
	const char *gap;      /* static: why what was registered in the stop may be gone; NULL */
	const char *lost;     /* static: the same, once there was no table for what was asked for */
	bool in_stop;         /* what is being loaded was registered in the stop */
	struct sw_jit_libgcc_registry *registries; /* owned; n_roots */
	struct sw_cfi_section *sections;           /* owned, with their bytes */
	size_t n_sections, capacity, n_visits;
	uint64_t bytes_left;
	struct sw_cfi_fdes fdes[SW_JIT_LIBGCC_TRUSTS]; /* by trust */
	struct sw_map64 seen; /* addresses of .eh_frame: gcc 14 has each object in two trees */
	struct sw_jit_libgcc_registry *loading;
	struct sw_snapshot_memory memory;
};

/* 0, -SW_E_NOMEM. All that is given is borrowed until it is destroyed. */
int sw_jit_libgcc_tables_create(const struct sw_snapshot *snap, const struct sw_jit_root *roots,
				size_t n_roots, struct sw_jit_libgcc_known *known,
				struct sw_jit_libgcc_tables **ret);
void sw_jit_libgcc_tables_destroy(struct sw_jit_libgcc_tables *g);

void sw_jit_libgcc_tables_load(struct sw_jit_libgcc_tables *g);

/* The entry for avma that is loaded and may be believed; NULL if there is none. An entry that is
 * torn is noted. */
const struct sw_cfi_fde *sw_jit_libgcc_tables_find(struct sw_jit_libgcc_tables *g, uint64_t avma,
						   bool *ret_live);

/* After the stop: proves what was not looked at because it is as it was. */
void sw_jit_libgcc_prove(struct sw_jit_libgcc_known *known);

#endif
