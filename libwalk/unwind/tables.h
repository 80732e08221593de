/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_TABLES_H
#define SW_TABLES_H

#include "unwind/runtime.h"

/* The two tables of unwinders and runtimes, each in order of preference. walk/tables.c has the
 * project's; tests have others. */
struct sw_tables {
	const struct sw_runtime_ops *const *runtimes;
	size_t n_runtimes;
	const struct sw_unwinder_ops *const *unwinders;
	size_t n_unwinders;
	const struct sw_tables *of_32bit; /* those that know 32-bit programs; NULL: all do */
};

/* The tables for the process of a snapshot. */
static inline const struct sw_tables *sw_tables_of(const struct sw_tables *tables,
						   const struct sw_snapshot *snap)
{
	return snap->process.elf_class == 32 && tables->of_32bit != NULL ? tables->of_32bit
									 : tables;
}

enum { SW_TABLES_MAX = 48 /* rows of both together */ };

/* A participant in the walks of a snapshot: an unwinder, or a runtime that is in the process. */
struct sw_active {
	const struct sw_unwinder_ops *unwinder; /* one of these two is NULL */
	const struct sw_runtime_ops *runtime;
	void *state;  /* owned: from attach() or open() */
	bool repeats; /* see sw_unwinder_ops */
	bool kept;    /* the state is the snapshot's: sw_snapshot_priv.kept */
	/* The functions and data of either that the walker uses. */
	const char *name;
	const char *kind;           /* NULL: it owns no code */
	const char *const *sources; /* NULL: one */
	uint32_t kinds;
	enum sw_trust trust, weak_trust;
	enum sw_step (*step)(void *state, struct sw_cursor *cursor, struct sw_stepped *ret);
	bool (*owns)(void *state, const struct sw_cursor *cursor, uint64_t *ret_cookie);
	int (*names)(void *state, const struct sw_frame *frame, struct sw_description *ret);
};

/* In the order in which they are asked: runtimes, then unwinders. */
struct sw_active_list {
	struct sw_active all[SW_TABLES_MAX];
	size_t n;
	bool only_lasting; /* before: those whose state is for one copy are left out */
	bool left_out;     /* result: there was one */
};

#endif
