/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_V8_FUNCTION_H
#define SW_V8_FUNCTION_H

#include "runtimes/v8/objects/object.h"

/* In a SharedFunctionInfo: where its Code, its bytecode, or what leads to them is. */
enum { SW_V8_SHARED_DATA = 8 };

/* A function, by its SharedFunctionInfo. */
struct sw_v8_function {
	uint64_t script; /* 0: none */
	char name[512];
	char file[1024]; /* "" when unknown */
};

/* The SharedFunctionInfo of a JSFunction. */
bool sw_v8_shared_of(struct sw_v8_heap heap, uint64_t function, uint64_t *ret);

bool sw_v8_function_read(struct sw_v8_heap heap, uint64_t shared, struct sw_v8_function *ret);

/* The line, from 1 on, of a position in a script; 0 when it cannot be had. */
uint32_t sw_v8_line(struct sw_v8_heap heap, uint64_t script, int32_t position);

/* The bytecode of a SharedFunctionInfo, which may be compiled, too; 0: it is not known. */
uint64_t sw_v8_shared_bytecode(struct sw_v8_heap heap, uint64_t shared);

#endif
