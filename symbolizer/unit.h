/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_UNIT_H
#define SW_UNIT_H

#include "elf_file.h"
#include "map.h"
#include "pe_file.h"

#include <snapwalk/symbolize.h>

struct sw_arena;
struct sw_request;

enum { SW_PROVIDERS_MAX = 16 };

/* Whether it is a program by GNAT; by GHC. */
enum sw_unit_language { SW_UNIT_ADA = 1 << 0, SW_UNIT_HASKELL = 1 << 1 };

/* A module as the symbolizer sees it. Lives as long as the symbolizer; everything lazy is tried
 * once and remembers its failure. */
struct sw_unit {
	struct sw_module *module; /* borrowed from the context */
	uint32_t kind;            /* 1 << enum sw_module_kind */
	bool elf_tried, is_elf;
	struct sw_elf elf;                   /* its image */
	unsigned languages_tried, languages; /* enum sw_unit_language */
	bool pe_tried, is_pe;
	struct sw_pe_file pe; /* the same, when it is a PE file */
	uint64_t bias;        /* of a place it is mapped at: only for images copied from memory */
	enum sw_symbol_source source; /* the best used so far */
	const char *lines_why; /* borrowed: why lines are missing; NULL: none is, or nobody asked */
	bool package_tried;
	const char *debug_package; /* borrowed: which Debian package has its symbols; NULL */
	struct sw_map64 by_svma;   /* -> index into entries */
	struct sw_entry *entries;  /* owned */
	size_t n_entries, capacity;
	uint64_t generation;            /* of the last call that asked for one of its addresses */
	struct sw_debugfile *debugfile; /* owned: debugfile.h; NULL: not looked for */
	void *slot[SW_PROVIDERS_MAX];   /* the provider's own; freed by its forget */
};

/* Find the packages of debug files for units that have no symbols but those that they export. Each
 * unit is looked for once: debug_packages.c. Returns 0 or -SW_E_NOMEM. */
int sw_debug_packages_find(struct sw_unit *const *units, size_t n, const char *lists,
			   const struct sw_request *request);
/* The ELF view of the module's image, or NULL. */
const struct sw_elf *sw_unit_elf(struct sw_unit *unit);
/* The PE view of it, or NULL. */
const struct sw_pe_file *sw_unit_pe(struct sw_unit *unit);

#endif
