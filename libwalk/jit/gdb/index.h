/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_JIT_GDB_INDEX_H
#define SW_JIT_GDB_INDEX_H

#include "jit/gdb/known.h"
#include "jit/gdb/known.h"
#include "jit/gdb/symfile.h"

/*
 * After the stop: what all lists of a process lead to, and which of it describes an address. Lists are
 * read once, symfiles opened when they are needed.
 */
enum { SW_JIT_GDB_OVERLAPS_MAX = 64 /* looked at when symfiles describe the same code */ };

struct sw_jit_gdb_entry {
	uint64_t avma; /* the node's */
	uint64_t symfile_avma, symfile_bytes;
	struct sw_jit_symfile *file; /* owned; NULL: not opened, or it cannot be */
	bool tried;
	bool live; /* not all of it was copied in the stop */
	bool torn; /* it changed while it was read after the stop */
};

struct sw_jit_gdb_code {
	uint64_t start_avma, end_avma;
	uint32_t entry;
};

/* The list of one descriptor. */
struct sw_jit_gdb_registry {
	const struct sw_jit_root *root;
	size_t n, n_foreign,
		n_bad; /* entries; those that are no ELF file; those that are damaged */
	enum sw_jit_gdb_end end;
};

struct sw_jit_gdb_index {
	const struct sw_snapshot *snap;
	const struct sw_jit_root *roots;
	size_t n_roots;
	const struct sw_jit_gdb_known *known; /* what the hooks found; NULL: nothing */
	bool loaded, indexed;
	bool nomem, too_much, too_many; /* not all of it is here */
	bool torn;                      /* nor this: it changed while it was read */
	const char *gap;  /* static: why what was published in the stop may be gone; NULL */
	const char *lost; /* static: the same, once there was no entry for what was asked for */
	struct sw_jit_gdb_registry *lists; /* owned; n_roots */
	struct sw_jit_gdb_entry *entries;
	size_t n_entries, entries_capacity;
	struct sw_jit_gdb_code *codes; /* by start; the newest first when that is the same */
	size_t n_codes, codes_capacity;
	size_t headers_left;
	uint64_t symfiles_left;
	struct sw_jit_gdb_registry *loading;
	uint32_t indexing;
};

/* Entries that describe code at avma. */
struct sw_jit_gdb_candidates {
	const struct sw_jit_gdb_code *codes[SW_JIT_GDB_OVERLAPS_MAX]; /* the newest entry first */
	size_t n;
};

/* 0, -SW_E_NOMEM. All that is given is borrowed until it is destroyed. */
int sw_jit_gdb_index_create(const struct sw_snapshot *snap, const struct sw_jit_root *roots,
			    size_t n_roots, const struct sw_jit_gdb_known *known,
			    struct sw_jit_gdb_index **ret);
void sw_jit_gdb_index_destroy(struct sw_jit_gdb_index *g);

void sw_jit_gdb_lists_load(struct sw_jit_gdb_index *g);

/* The entries whose file covers avma; loads what that needs. */
void sw_jit_gdb_candidates_find(struct sw_jit_gdb_index *g, uint64_t avma,
				struct sw_jit_gdb_candidates *ret);

#endif
