/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PROVIDER_H
#define SW_PROVIDER_H

#include "arena.h"
#include "dwarf/table_memory.h"

#include <snapwalk/symbolize.h>

/*
 * How to add a symbol provider: write prov_NAME.c with a `const struct sw_provider_ops`, name it in
 * providers.h and in the table of providers.c at its place in the order of preference, add a unit test
 * and a fuzzer for what
 * it parses. Nothing else has to change.
 *
 * A provider answers in one or more of three ways, each optional:
 *	frame   one frame, by more than its address (managed code, a JIT's map of this process).
 *	names   many addresses of one module at once: symbol tables.
 *	lines   the same, for files, lines and inlined calls. Only called when the user wants lines,
 *		and only after every module has been named, so that a time limit leaves names
 *		everywhere.
 * The target is running and never looked at. Everything in a module's image is hostile.
 */

/* The best function symbol that starts at or before an address, without a size that proves it. */
struct sw_label {
	uint64_t start_svma; /* the last start of any function symbol; 0 with seen false */
	bool seen;
	const char *name;  /* a symbol of size 0 that starts there, or NULL */
	uint64_t end_svma; /* where its section ends, or it is not believed any more */
	size_t name_bytes;
	uint32_t rank;
	enum sw_symbol_source source;
};

/* An address of a module that wants a name or a line. */
struct sw_want {
	uint64_t svma;

	/* names: what is best so far. Names are borrowed from images that the unit keeps, and not
	 * NUL-terminated (the file may change under us): name_bytes counts. */
	const char *name;
	size_t name_bytes;
	uint64_t start_svma, size_bytes;
	uint32_t rank;
	enum sw_symbol_source source;
	struct sw_label label; /* the answer when no symbol with a size holds the address */

	/* lines: what to add to and what came of it. */
	const struct sw_symbol *named; /* the name found before, or NULL; borrowed */
	struct sw_symbol *symbols;     /* innermost first, in the request's arena; NULL: none */
	size_t n_symbols;
	bool finished; /* the provider has looked, whether it found something or not */
};

/* The means that a call may use. */
struct sw_request {
	struct sw_arena *arena; /* results live here; as long as the symbolizer */
	const char *debug_dir;
	struct sw_local *local; /* for names; NULL: for a process that may wait for ever */
	const struct sw_debug_search *search; /* NULL: nobody looks for debug files elsewhere */
	struct sw_unpacked *unpacked;         /* NULL: none */
	struct sw_table_memory *tables;       /* outlives the unit; NULL: none are made */
	int64_t deadline_ns;                  /* 0: none */
	const struct sw_symbolize_options
		*options; /* borrowed; for dwo_read, may_read. NULL: the defaults */
};

struct sw_unit;

struct sw_provider_ops {
	const char *name;
	uint32_t kinds; /* bits 1 << enum sw_module_kind that names and lines may be asked about */

	/* Optional. The symbols of the frame in arena, innermost first, as sw_symbols_find() gives
	 * them, and their number; 0 when it does not know it; -SW_E_NOMEM. */
	int (*frame)(const struct sw_walks *walks, const struct sw_frame *frame,
		     struct sw_arena *arena, const struct sw_symbol **ret);

	/* Optional. wants is sorted by svma, without doubles. Improves what earlier providers found
	 * and leaves it alone otherwise. slot is the provider's own for this unit. */
	int (*names)(struct sw_unit *unit, void **slot, struct sw_want *wants, size_t n,
		     const struct sw_request *request);

	/* Optional. Fills symbols and finished. Wants that are not finished when it returns count as
	 * cut by the deadline. */
	int (*lines)(struct sw_unit *unit, void **slot, struct sw_want *wants, size_t n,
		     const struct sw_request *request);

	/* Optional. Frees a slot that is not NULL. */
	void (*forget)(void *slot);
};

#endif
