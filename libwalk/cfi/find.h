/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_ELF_CFI_H
#define SW_ELF_CFI_H

#include "bytes.h"
#include "cfi/entry.h"
#include "cfi/rule.h"
#include "snapshot/module.h"

/*
 * The data that the ELF unwinder keeps in a module's slot: the call frame tables, the rules
 * compiled from them, and where the image's segments lie. Made on first use, freed with the module.
 */
struct sw_elf_cfi;

enum {
	/* Rules kept for one module; when it is reached all are dropped and made anew. */
	SW_ELF_RULES_MAX = 65536,
};

/* NULL when the module is no ELF image for x86-64 or i386, or there is no memory. */
struct sw_elf_cfi *sw_elf_cfi_get(struct sw_module *module);

enum sw_elf_row {
	SW_ELF_ROW_FOUND,
	SW_ELF_ROW_NONE, /* no table covers it, or the table says nothing there */
	SW_ELF_ROW_BAD,  /* a table covers it, but is malformed */
	SW_ELF_ROW_NOMEM,
};

/* The rule for the instruction at svma; cached, failures too. *ret_rule is valid until the next
 * call. */
enum sw_elf_row sw_elf_cfi_row(struct sw_elf_cfi *cfi, uint64_t svma,
			       const struct sw_cfi_rule **ret_rule);

/* The table that covers svma: ".eh_frame", ".debug_frame"; NULL when none does. Static. */
const char *sw_elf_cfi_table(struct sw_elf_cfi *cfi, uint64_t svma);

/* Whether svma is in code by .NET's NativeAOT compiler, which has a section of its own. */
bool sw_elf_cfi_is_managed(struct sw_elf_cfi *cfi, uint64_t svma);

/* The module's headers; borrowed. */
const struct sw_elf *sw_elf_cfi_elf(struct sw_elf_cfi *cfi);

/* For cfi/function.c: svma -> start of its function + 1, 0 when not known. */
struct sw_map64 *sw_elf_cfi_starts(struct sw_elf_cfi *cfi);

/* The image as memory, by svma. */
struct sw_memory sw_elf_cfi_memory(struct sw_elf_cfi *cfi);

/*
 * The entry of .eh_frame for svma, through its search table, else by what that does not have, which is
 * looked for once; *ret_svma is its own address.
 * SW_ELF_ROW_NONE also when there is no search table; SW_ELF_ROW_BAD when it is not fit for use.
 */
enum sw_elf_row sw_elf_cfi_entry(struct sw_elf_cfi *cfi, uint64_t svma, struct sw_cfi_entry *ret,
				 uint64_t *ret_svma);

#endif
