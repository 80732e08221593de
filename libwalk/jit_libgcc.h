/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_JIT_LIBGCC_H
#define SW_JIT_LIBGCC_H

#include "jit.h"

/* jit_libgcc_probe.c: adds the anchors of a copy of libgcc; their detail is its kind. */
void sw_jit_libgcc_probe(const struct sw_elf_symbols *symbols, struct sw_jit_probe *probe);

enum {
	/* Reads in the stop of what prepare() has not seen, of all lists and trees together: 1 to 2
	 * us each. */
	SW_JIT_LIBGCC_STOP_READS = 256,
	SW_JIT_LIBGCC_KNOWN_MAX = 16384,  /* objects looked at before the stop */
	SW_JIT_LIBGCC_VISITS_MAX = 65536, /* of their tables */
};

/* jit_libgcc_capture.c: what of the lists is copied in the stop. */
int sw_jit_libgcc_prepare(struct sw_jit_capture *c);
int sw_jit_libgcc_capture(struct sw_jit_capture *c);

/* The size of the .eh_frame at avma with its end, an entry of length 0. False when it is larger than
 * max, or cannot be read. */
bool sw_jit_eh_frame_size(struct sw_memory memory, uint64_t avma, uint64_t max, uint64_t *ret);

#endif
