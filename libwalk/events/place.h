/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_EVENTS_PLACE_H
#define SW_EVENTS_PLACE_H

#include "bytes.h"

#include <snapwalk/event.h>

/*
 * Where a function is probed: at the first instruction that the kernel executes by itself (push, nop, a jump, a call), if
 * each call comes there once, with the arguments and the return address where they were at the beginning. Other
 * instructions cost a second exception: the kernel copies them and executes the copy in a single step. Where there is no
 * such instruction it is the first one.
 */

struct sw_probe_place {
	size_t at; /* bytes behind the beginning of the function */
	bool emulated;
	bool reentered; /* a jump of the function comes back to it: turns of that loop look like calls */
};

/* Finds the place in a function; code has all of its bytes. */
struct sw_probe_place sw_place_find(struct sw_bytes code, uint64_t avma);

/* Whether the kernel executes the instruction by itself. */
bool sw_place_is_emulated(const uint8_t *code, size_t n);

/* The bytes of an ELF file from the code at an address on. 0; -SW_E_UNSUPPORTED; -SW_E_INVALID. */
int sw_place_code(const void *image, size_t image_size, uint64_t svma, struct sw_bytes *ret,
		  struct sw_error *err);

#endif
