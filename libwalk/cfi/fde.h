/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CFI_FDE_H
#define SW_CFI_FDE_H

#include "cfi/entry.h"
#include "cfi/rule.h"

enum { SW_CFI_FDES_MAX = 1 << 20 /* of one section: what is looked at */ };

/*
 * FDEs by themselves: of the target's memory, whatever kind of section they are in, and of files where
 * libdw's search does not find them.
 */

/*
 * The rule for the instruction at avma by one FDE, whatever kind of section it is in; memory comes
 * from the arena.
 * @return 0; -SW_E_NOT_FOUND when it is not about avma, or says nothing of the CFA; -SW_E_FORMAT;
 *         -SW_E_LIMIT; -SW_E_NOMEM.
 */
int sw_cfi_fde_rule(const struct sw_cfi_section *section, uint64_t fde_off, uint64_t avma,
		    struct sw_arena *arena, const struct sw_cfi_rule **ret);

/* The FDE for avma, by looking at one after the other from offset 0: 1 with *ret_off and *ret; 0;
 * -1 when the section is malformed before one was found. */
int sw_cfi_fde_find(const struct sw_cfi_section *section, uint64_t avma, uint64_t *ret_off,
		    struct sw_cfi_entry *ret);

/* All FDEs that have an address, sorted by it. */
struct sw_cfi_fde {
	uint64_t start_avma, end_avma;
	uint32_t off, section; /* section: the caller's number */
};
struct sw_cfi_fdes {
	struct sw_cfi_fde *fdes; /* owned */
	size_t n, capacity;
	bool bad; /* malformed, or too many: behind the last one there is more */
};

/* Adds one. 0, -SW_E_NOMEM. */
int sw_cfi_fdes_put(struct sw_cfi_fdes *fdes, const struct sw_cfi_entry *entry, uint32_t off,
		    uint32_t number);
/* Adds those of a section, of less than 4 GiB. 0, -SW_E_NOMEM. */
int sw_cfi_fdes_add(struct sw_cfi_fdes *fdes, const struct sw_cfi_section *section,
		    uint32_t number);
void sw_cfi_fdes_sort(struct sw_cfi_fdes *fdes);
/* NULL when there is none. When two overlap, one of them. */
const struct sw_cfi_fde *sw_cfi_fdes_find(const struct sw_cfi_fdes *fdes, uint64_t avma);
void sw_cfi_fdes_deinit(struct sw_cfi_fdes *fdes);

#endif
