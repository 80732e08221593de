/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_ELF_EXPORT_H
#define SW_ELF_EXPORT_H

#include "module.h"

/*
 * What an ELF image exports, as the dynamic linker would find it: through DT_GNU_HASH, so that asking
 * every module of a process costs next to nothing.
 * Sources: gABI 4.1, chapter 5 "Dynamic Linking"; binutils 2.40, elf/gnu-hash (bfd/elflink.c).
 */
enum { SW_ELF_EXPORT_CHAIN_MAX = 4096 }; /* symbols in one bucket */

/* The address and size of a defined data or function symbol. False: it has none, or the tables are
 * malformed. */
bool sw_elf_export_find(struct sw_module *module, const char *name, uint64_t *ret_svma,
			uint64_t *ret_bytes);

#endif
