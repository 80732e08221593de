/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_STACK_ID_H
#define SW_STACK_ID_H

#include "text.h"

#include <stddef.h>
#include <stdint.h>

/*
 * The id of a stack: XXH3-64, seed 0, over its frames, innermost first, inlined calls left out
 * (they follow from the address). Each frame gives the first of these that is known:
 *
 *	'B' length(1 byte) build-id(length bytes) offset(8 bytes, little endian)
 *	'P' path NUL offset(8)           a file without build-id
 *	'N' name NUL                     JIT-compiled and managed code: addresses differ every run
 *	'U'                              code that nothing is known of
 *
 * No addresses of the process, trust, unwinder or end: the same code has the same id on every host,
 * in every run. The encoding is part of snapwalk.dump/1 and cannot change.
 */
struct sw_stack_id_frame {
	const char *name;        /* NULL, or the name of managed code: wins */
	const uint8_t *build_id; /* NULL: none */
	size_t build_id_bytes;
	const char *path; /* NULL or "": none */
	uint64_t offset;
};

void sw_stack_id_add(struct sw_text *bytes, const struct sw_stack_id_frame *frame);

/* The id of the bytes that were added; 0 bytes are legal. Leaves the bytes alone. */
uint64_t sw_stack_id(const struct sw_text *bytes);

#endif
