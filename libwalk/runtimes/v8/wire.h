/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_V8_WIRE_H
#define SW_V8_WIRE_H

#include "memory.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * The name of a function in the bytes of a WebAssembly module, from its section "name", cut to fit. False when
 * it has none, or the bytes cannot be read.
 */
bool sw_v8_wire_name(struct sw_memory memory, uint64_t avma, uint64_t bytes, uint32_t index,
		     char *ret, size_t size);

#endif
