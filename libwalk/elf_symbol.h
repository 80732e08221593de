/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_ELF_SYMBOL_H
#define SW_ELF_SYMBOL_H

#include "bytes.h"

/*
 * An ELF file's symbols by name, without libelf: what is looked for is rarely there, and looking
 * must cost next to nothing. .dynsym is searched through its hash table, .symtab only when its
 * strings hold the name at all.
 * Source: gABI 4.3, chapters 4 and 5; DT_GNU_HASH as in binutils 2.40, bfd/elflink.c.
 */
struct sw_elf_symbols {
	struct sw_bytes image;
	struct sw_bytes dynsym, dynstr;
	struct sw_bytes gnu_hash; /* none: .dynsym is searched in a row */
	struct sw_bytes symtab, strtab;
};

enum { SW_ELF_SYMBOLS_MAX = 8 << 20 /* looked at in one table */ };

struct sw_elf_symbol {
	uint64_t svma, size;
};

/* False when it is no x86-64 ELF file, or has no symbols. */
bool sw_elf_symbols_open(struct sw_bytes image, struct sw_elf_symbols *ret);

/* A defined symbol of that name, whatever its version, binding and type. */
bool sw_elf_symbols_find(const struct sw_elf_symbols *symbols, const char *name,
			 struct sw_elf_symbol *ret);

/* The bytes at an address, to the end of what its load segment has in the file. */
bool sw_elf_symbols_bytes(const struct sw_elf_symbols *symbols, uint64_t svma,
			  struct sw_bytes *ret);

#endif
