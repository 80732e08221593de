/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_FTABLE_TABLES_H
#define SW_FTABLE_TABLES_H

#include "jit/ftable/read.h"
#include "jit/ftable/record.h"
#include "jit/common/source.h"
#include "cfi/fde.h"
#include "range_index.h"
#include "snapshot/snapshot.h"
#include "snapshot/read.h"

/*
 * The tables of all registries of a process, loaded once; what they point to is loaded when it is asked
 * for. Each says what it knows of an address: the way out of the code there, its name.
 */

/* A part of a table that was read. */
struct sw_ftable_part {
	uint8_t *bytes; /* owned; NULL: not read yet, or in vain */
	size_t size;
	bool tried, live;
};

struct sw_ftable_table {
	struct sw_ftable t;
	struct sw_ftable_part data, symbols, names;
	struct sw_cfi_fdes fdes;            /* owned; over data */
	struct sw_jit_ranges symbol_ranges; /* owned; value: index of a symbol */
	bool fdes_tried, ranges_tried;
	const char *problem; /* static: why it is not used; NULL */
};

struct sw_ftable_registry {
	const struct sw_jit_root *root;
	size_t n, n_busy, n_bad;
	const char *problem; /* static; NULL */
};

struct sw_ftable_all {
	const struct sw_snapshot *snap;
	const struct sw_jit_root *roots;
	size_t n_roots;
	struct sw_ftable_registry *registries; /* owned */
	size_t n_registries;
	struct sw_ftable_table *tables; /* owned; older ones first */
	size_t n_tables;
	struct sw_jit_ranges ranges; /* value: index of a table */
	struct sw_snapshot_memory still_memory, memory;
	size_t records_left, payloads_left; /* bytes */
	bool loaded, nomem;
};

/* As in sw_jit_source_ops. */
int sw_ftable_attach(const struct sw_snapshot *snap, const struct sw_jit_root *roots,
		     size_t n_roots, void *found, void **ret_state);
void sw_ftable_detach(void *state);

/* Tried once. */
void sw_ftable_load(struct sw_ftable_all *st);

/* The process as it is now; ops is NULL when there is none. */
struct sw_memory sw_ftable_running(const struct sw_ftable_all *st);

/* The memory that a table points to: from the copies, or from the process if the table has not
 * changed. It is tried once; else the table's problem says why not. */
bool sw_ftable_part_get(struct sw_ftable_all *st, struct sw_ftable_table *t,
			struct sw_ftable_part *part, uint64_t avma, uint64_t bytes);

/* Calls each for the tables about an address, the newest first, until one says true. */
bool sw_ftable_about(struct sw_ftable_all *st, uint64_t avma,
		     bool (*each)(struct sw_ftable_all *st, struct sw_ftable_table *t,
				  uint64_t avma, void *arg),
		     void *arg);

/* The way out of code, by one table. */
bool sw_ftable_rule(struct sw_ftable_all *st, struct sw_ftable_table *t, uint64_t avma,
		    struct sw_jit_entry *ret);

/* By one table, the symbol that holds an address; its name, file and line. */
bool sw_ftable_symbol(struct sw_ftable_all *st, struct sw_ftable_table *t, uint64_t avma,
		      struct swft_symbol *ret);
bool sw_ftable_name(struct sw_ftable_all *st, struct sw_ftable_table *t, uint64_t avma,
		    struct sw_description *ret);

#endif
