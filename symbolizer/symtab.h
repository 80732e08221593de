/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_SYMTAB_H
#define SW_SYMTAB_H

#include "provider.h"
#include "unit.h"

/*
 * Scan a symbol table once for all wanted addresses. Sorting or indexing the table first costs more
 * than the whole dump: node has 110,000 symbols, a dump asks for some sixty. A profile asks again and again for a few
 * addresses: a table that has been scanned often is sorted then (struct sw_symtab_index).
 *
 * Which symbol names an address:
 *	1. functions (FUNC, GNU_IFUNC, and NOTYPE in executable sections) with start <= address <
 *	   start + size; the last start wins;
 *	2. of those with the same start: typed before NOTYPE, GLOBAL before WEAK before LOCAL, then
 *	   the smallest, then the fewest leading underscores, the shortest, the first in strcmp order;
 *	3. none: a symbol of size 0 (hand-written assembly) that starts before the address in the
 *	   same section, if no other function starts between them.
 * The rules do not depend on the order of the table, so that the same code always has the same name.
 */

struct sw_symtab {
	const struct sw_elf *elf; /* for the sections that symbols lie in */
	struct sw_elf_table table;
	enum sw_symbol_source source;
};

/* The table of that section type (SHT_SYMTAB, SHT_DYNSYM). False when there is none. */
bool sw_symtab_find(const struct sw_elf *elf, uint32_t section_type, enum sw_symbol_source source,
		    struct sw_symtab *ret);
/* The dynamic table by way of PT_DYNAMIC, for images without section headers. In an image copied
 * from memory ld.so has added bias to the addresses there. */
bool sw_symtab_find_dynamic(const struct sw_elf *elf, uint64_t bias, enum sw_symbol_source source,
			    struct sw_symtab *ret);

/* Improves wants (sorted by svma). False: the deadline or the work limit came first. */
bool sw_symtab_scan(const struct sw_symtab *table, struct sw_want *wants, size_t n,
		    int64_t deadline_ns);

/* The functions of a table by their start. Has numbers of symbols only, no bytes of the file, which may change. */
struct sw_symtab_index {
	struct sw_table_memory *memory; /* borrowed; counts the starts */
	size_t n_scans;                 /* so far, while there is none */
	bool tried;
	size_t n;
	struct sw_symtab_start {
		uint64_t start_svma;
		uint64_t last_svma; /* the last byte of this function and of all before it */
		size_t symbol;      /* its number in the table */
	} * starts;                 /* owned; NULL: the table is scanned */
};

/* The same as sw_symtab_scan(), by the index when there have been so many scans that it pays; index is of this table alone, and
 * begins as zeros. Of the request it takes the deadline and the memory of tables, which outlives the index. */
bool sw_symtab_look_up(const struct sw_symtab *table, struct sw_symtab_index *index,
		       struct sw_want *wants, size_t n, const struct sw_request *request);
void sw_symtab_index_deinit(struct sw_symtab_index *index);

/* Whether a is the better of two names of one address: fewest leading underscores, the shortest,
 * the first in strcmp order. */
bool sw_symbol_name_better(const char *a, size_t a_bytes, const char *b, size_t b_bytes);

/* True when every want has a symbol with a size: no other table can say more. */
bool sw_wants_settled(const struct sw_want *wants, size_t n);

#endif
