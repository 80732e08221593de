/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_CODE_H
#define SW_CPYTHON_CODE_H

#include "runtimes/cpython/structures/chain.h"

/*
 * Code objects. They do not change, but may be freed as soon as the process goes on: their heads are
 * read with the registers, and names that were read afterwards count only when the head is still the same
 * then.
 */
struct sw_cpython_code {
	uint64_t avma;
	uint64_t type_avma;
	uint64_t function_avma; /* str: qualified name, or name */
	uint64_t filename_avma, lines_avma;
	uint64_t instructions_avma; /* 3.8 to 3.10: the object */
	uint64_t copies_avma;       /* of instructions; 0: there are none */
	uint32_t first_line;
	int32_t traceable;    /* offset in bytes of the first instruction that counts */
	uint64_t contents;    /* of what else does not change in the head, a hash */
	uint64_t frame_bytes; /* 3.11, 3.12: that a frame of it has in the data stack; else 0 */
};

/* False when it cannot be read, or is no code object. */
bool sw_cpython_code_read(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t avma,
			  struct sw_cpython_code *ret);

/* Where the instructions are that a frame of this code executes. False when that cannot be read. */
bool sw_cpython_code_start(const struct sw_cpython_at *at, struct sw_memory memory,
			   const struct sw_cpython_code *code, const struct sw_cpython_frame *frame,
			   uint64_t *ret);

/* Whether it is in use, and the same. */
bool sw_cpython_code_is(const struct sw_cpython_code *a, const struct sw_cpython_code *b);

/* A number that another code object at that address hardly has. */
uint64_t sw_cpython_code_identity(const struct sw_cpython_code *code);

/* A str as UTF-8, cut to fit at a character; it ends with NUL. False when it is not one. */
bool sw_cpython_string(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t avma,
		       char *ret, size_t size);

#endif
