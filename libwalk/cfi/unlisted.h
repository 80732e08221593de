/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CFI_UNLISTED_H
#define SW_CFI_UNLISTED_H

#include "cfi/fde.h"

/*
 * Entries of .eh_frame that the search table of .eh_frame_hdr does not have. GNU ld (2.40) leaves out
 * those of some of clang's objects: 1,478 of the 5,611 functions of a program by NativeAOT.
 */
struct sw_cfi_frame {
	const struct sw_cfi_section *section; /* borrowed */
	const struct sw_cfi_table *table;     /* borrowed; sorted */
	uint64_t off;                         /* of .eh_frame in section */
	uint64_t end_off;                     /* 0: not known, it ends with its terminator */
};

/*
 * Adds them to *fdes and sorts it. A malformed entry ends the search. @return 0; -SW_E_NOMEM.
 */
int sw_cfi_unlisted(const struct sw_cfi_frame *frame, struct sw_cfi_fdes *fdes);

#endif
