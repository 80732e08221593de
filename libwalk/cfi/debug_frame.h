/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DEBUG_FRAME_H
#define SW_DEBUG_FRAME_H

#include "formats/elf_file.h"

#include <elfutils/libdw.h>

/*
 * A module's .debug_frame, and nothing else of its debug information: libdw needs a Dwarf handle to
 * look into it, and making one over the whole file uncompresses every debug section there is
 * (elfutils 0.188, dwarf_begin_elf.c). So it gets a file made up of that one section.
 */
struct sw_debug_frame;

enum {
	/* Bytes of one section, also when uncompressed: libdw reads all of it on first use. */
	SW_DEBUG_FRAME_MAX = 16 << 20,
};

/* NULL when there is none, it is too large or malformed, or there is no memory. */
struct sw_debug_frame *sw_debug_frame_open(const struct sw_elf *elf);
/* The same over bytes that somebody has put together; they are copied. */
struct sw_debug_frame *sw_debug_frame_make(struct sw_bytes entries, bool is_32bit);
void sw_debug_frame_close(struct sw_debug_frame *frame);
/* Borrowed. */
Dwarf_CFI *sw_debug_frame_cfi(struct sw_debug_frame *frame);

#endif
