/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PE_LOAD_H
#define PE_LOAD_H

#include "pe_make.h"

enum { PE_LOAD_BYTES = 0x300000 }; /* what pe_make says is SizeOfImage */

/* The file as a loader lays it out in memory; free(). */
uint8_t *pe_load(const struct pe_make *pe);

/* Overwrites a field of the header; offset is from the signature "PE". */
void pe_make_patch(struct pe_make *pe, int32_t offset, uint64_t value, size_t bytes);

#endif
