/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_ELF_FUNCTION_H
#define SW_ELF_FUNCTION_H

#include "cfi/find.h"

/*
 * Where functions begin and end, which libdw does not tell: from .eh_frame through its search
 * table, else from symbols (their addresses; names are not our business).
 */
struct sw_elf_entry {
	uint64_t start_svma, end_svma; /* [start, end) of the code */
	uint64_t entry_svma;           /* of the entry (FDE) itself */
};

/* The entry of .eh_frame that covers svma. False: none, no search table, or malformed. */
bool sw_elf_entry_find(struct sw_elf_cfi *cfi, uint64_t svma, struct sw_elf_entry *ret);

/* The first instruction of the function that holds svma. False when nothing says so. */
bool sw_elf_function_start(struct sw_elf_cfi *cfi, uint64_t svma, uint64_t *ret_svma);

#endif
