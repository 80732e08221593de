/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PROVIDER_H
#define SW_PROVIDER_H

#include "arena.h"
#include "elf_file.h"
#include "map.h"
#include "pe_file.h"

#include <snapwalk/symbolize.h>

/*
 * How to add a symbol provider: write prov_NAME.c with a `const struct sw_provider_ops`, name it in
 * providers.c's table at its place in the order of preference, add a unit test and a fuzzer for what
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

enum { SW_PROVIDERS_MAX = 16 };

/* The best function symbol that starts at or before an address, without a size that proves it. */
struct sw_label {
	uint64_t start_svma; /* the last start of any function symbol; 0 with seen false */
	bool seen;
	const char *name;  /* a symbol of size 0 that starts there, or NULL */
	uint64_t end_svma; /* where its section ends */
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

/* What a call may use. */
struct sw_request {
	struct sw_arena *arena; /* results live here; as long as the symbolizer */
	const char *debug_dir;
	int64_t deadline_ns; /* 0: none */
};

/* Bytes that a unit keeps open: a mapped file or decompressed data. */
struct sw_image {
	struct sw_bytes bytes;
	bool mapped; /* munmap, else free */
	int fd;      /* owned; of a mapped file, to map it once more */
};

void sw_image_deinit(struct sw_image *image);
/* Maps directory/name for reading. False when it is not a regular file, is too large, lies outside of
 * directory or cannot be opened. Nothing but a regular file is ever opened: names may be hostile. */
bool sw_image_map(struct sw_image *image, const char *directory, const char *name);

struct sw_provider_ops;

/* A module as the symbolizer sees it. Lives as long as the symbolizer; everything lazy is tried
 * once and remembers its failure. */
struct sw_unit {
	struct sw_module *module; /* borrowed from the context */
	uint32_t kind;            /* 1 << enum sw_module_kind */
	bool elf_tried, is_elf;
	struct sw_elf elf; /* its image */
	bool pe_tried, is_pe;
	struct sw_pe_file pe; /* the same, when it is a PE file */
	uint64_t bias;        /* of a place it is mapped at: only for images copied from memory */
	enum sw_symbol_source source; /* the best used so far */
	struct sw_map64 by_svma;      /* -> index into entries */
	struct sw_entry *entries;     /* owned */
	size_t n_entries, capacity;
	uint64_t generation;          /* of the last call that asked for one of its addresses */
	void *slot[SW_PROVIDERS_MAX]; /* the provider's own; freed by its forget */
};

/* The ELF view of the module's image, or NULL. */
const struct sw_elf *sw_unit_elf(struct sw_unit *unit);
/* The PE view of it, or NULL. */
const struct sw_pe_file *sw_unit_pe(struct sw_unit *unit);
/* The slot of a provider of the table. */
void **sw_unit_slot(struct sw_unit *unit, const struct sw_provider_ops *ops);

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

extern const struct sw_provider_ops *const sw_providers[];
extern const size_t sw_n_providers;

extern const struct sw_provider_ops sw_prov_runtime, sw_prov_symtab, sw_prov_debugfile,
	sw_prov_dynsym, sw_prov_minidebug, sw_prov_pe, sw_prov_dwarf;

#endif
