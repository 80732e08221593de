/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_ELF_SYMBOL_H
#define SW_ELF_SYMBOL_H

#include "elf_file.h"

/*
 * An ELF file's symbols by name. The wanted symbols are rarely there, and looking must cost next to
 * nothing, though every file of every process is looked at. Exported symbols are searched through
 * their hash table. In .symtab, whose strings may be many megabytes, only the names of small
 * variables are looked at. Source: gABI 4.3, chapters 4 and 5; DT_GNU_HASH as in binutils 2.40,
 * bfd/elflink.c.
 */
struct sw_elf_symbols {
	const struct sw_elf *elf; /* borrowed */
	struct sw_elf_table dynsym, symtab;
	struct sw_bytes gnu_hash; /* none: .dynsym is searched in a row */
};

enum {
	SW_ELF_SYMBOLS_MAX = 8 << 20, /* looked at in one table */
	SW_ELF_CHAIN_MAX = 4096,      /* symbols in one bucket of the hash table */
	SW_ELF_VARIABLE_MAX = 256,
	SW_ELF_NAMES_MAX = 16,
};

struct sw_elf_symbol {
	uint64_t svma, size;
};

/* False when elf is NULL, or not for x86-64. It need not have symbols. */
bool sw_elf_symbols_open(const struct sw_elf *elf, struct sw_elf_symbols *ret);

/* A defined exported symbol of that name, whatever its version, binding and type. */
bool sw_elf_symbols_find(const struct sw_elf_symbols *symbols, const char *name,
			 struct sw_elf_symbol *ret);

/* Variables by their names, and who is told of them. */
struct sw_elf_wanted {
	const char *const *names; /* end with NULL */
	void (*each)(void *arg, const char *name, const struct sw_elf_symbol *symbol);
	void *arg;
};

/* For every variable of .symtab with one of the names; it can be written to and has at most
 * SW_ELF_VARIABLE_MAX bytes. Local ones may have the same name. The table is large, so it is gone
 * through once for all that is wanted: SW_ELF_NAMES_MAX names, others are not found. */
void sw_elf_symbols_variables(const struct sw_elf_symbols *symbols,
			      const struct sw_elf_wanted *wanted, size_t n_wanted);

#endif
