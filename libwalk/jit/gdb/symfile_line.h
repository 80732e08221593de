/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_JIT_SYMFILE_LINE_H
#define SW_JIT_SYMFILE_LINE_H

#include "bytes.h"

#include <snapwalk/walk.h>

/* The lines of a symfile whose debug sections are relocated. */
struct sw_jit_lines;

enum {
	SW_JIT_LINES_BYTES = 4 << 20, /* of a symfile whose lines are looked at */
	SW_JIT_LINES_UNITS = 256,     /* looked at */
};

/* image is borrowed. NULL when there are none. */
struct sw_jit_lines *sw_jit_lines_open(struct sw_bytes image);
void sw_jit_lines_close(struct sw_jit_lines *lines);

/* Sets file and line if they are known. */
void sw_jit_lines_find(struct sw_jit_lines *lines, uint64_t avma, struct sw_description *ret);

#endif
