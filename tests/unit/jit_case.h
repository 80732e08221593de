/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef JIT_CASE_H
#define JIT_CASE_H

#include "cfi/entry.h"

#include <stddef.h>
#include <stdint.h>

/*
 * .eh_frame made of literals:
 *
 *	struct eh_make eh = {.avma = 0x7f0000001000};
 *	size_t cie = eh_make_cie(&eh, 0x1b);			pcrel, sdata4
 *	eh_make_fde(&eh, cie, 0x1b, start, bytes, EH_ROWS(0x0e, 16));
 *	eh_make_end(&eh);
 *	struct sw_cfi_section section = eh_section(&eh);
 *
 * Each CIE begins with CFA = rsp+8, ra = [CFA-8]; eh_make_empty_cie() says nothing.
 */
enum { EH_MAKE_BYTES = 4096 };

struct eh_make {
	uint64_t avma;                 /* of bytes[0] */
	uint64_t text_avma, data_avma; /* bases of its encodings */
	uint8_t bytes[EH_MAKE_BYTES];
	size_t size;
};

#define EH_ROWS(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

/* The functions return the offsets of what they make. */
size_t eh_make_cie(struct eh_make *eh, uint8_t encoding);
size_t eh_make_empty_cie(struct eh_make *eh, uint8_t encoding);
size_t eh_make_fde(struct eh_make *eh, size_t cie, uint8_t encoding, uint64_t start, uint64_t bytes,
		   const uint8_t *rows, size_t n_rows);
void eh_make_end(struct eh_make *eh);

struct sw_cfi_section eh_section(const struct eh_make *eh);

#endif
