/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_FTABLE_CAPTURE_H
#define SW_FTABLE_CAPTURE_H

#include "jit/common/source.h"

/* The hooks of jit/ftable/source.c: target running, then STOPPED (see jit/jit.h). */
int sw_ftable_prepare(struct sw_jit_capture *c);
int sw_ftable_capture(struct sw_jit_capture *c);

/* Of all registries of a process together. What is over a limit is read after the stop. */
enum {
	SW_FTABLE_COPIES_MAX = 1024,
	SW_FTABLE_RECORD_COPY_BYTES = 2 << 20,
	SW_FTABLE_PAYLOAD_COPY_BYTES = 1 << 20,
	SW_FTABLE_PART_COPY_BYTES = 256 << 10, /* of one part of a table */
	SW_FTABLE_LOOKS_MAX = 1 << 18,         /* a thread's pc compared with a table's range */
};

#endif
