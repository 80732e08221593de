/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_V8_COPIED_H
#define SW_V8_COPIED_H

#include "arena.h"
#include "runtimes/v8/instructions/flow.h"
#include "runtimes/v8/v8.h"
#include "unwind/unwinder.h"

#include <snapwalk/walk.h>

enum {
	/* The bytes that the recipe copies of objects (recipe.h): up to what is needed of them, in all versions. */
	SW_V8_COPIED_FUNCTION_BYTES = 64,
	SW_V8_COPIED_SHARED_BYTES = 80,
	SW_V8_COPIED_SCRIPT_BYTES = 72,
	SW_V8_COPIED_CODE_BYTES = 64,
};

/*
 * Copies of threads that the kernel makes at events, one after another, while V8 goes on: objects move and are freed until they
 * are read.
 *
 *	functions   of each frame the copy has JSFunction, SharedFunctionInfo and Script. The number of the Script and that of the
 *	            function in it are given once: what was read of one stays. It is read later, and counts if the same function is
 *	            at the same address still
 *	code        is found later, at a return address. Code of Maglev and TurboFan counts if it is of the function that the
 *	            frame has in the copy; or if it was known before the copy was made and is there still: compilations have
 *	            numbers, too
 *
 * A frame of which neither holds has no name, and is marked.
 */

struct sw_v8_told_level {
	const char *function, *file; /* the arena's */
	uint32_t line;
};

/* The functions that a frame executes, innermost first. */
struct sw_v8_told {
	uint64_t start_avma;
	size_t n;
	struct sw_v8_told_level levels[];
};

/* Code that was met at a pc. */
struct sw_v8_known_code {
	struct sw_v8_code code;
	uint8_t head[SW_V8_COPIED_CODE_BYTES]; /* of the object */
	uint64_t shared; /* of Maglev and TurboFan: which function; 0: unknown */
	uint64_t number; /* of the compilation; 0: it has none */
	int64_t first_ns;
	int64_t filled_ns; /* when shared, number and uncertain were read */
	uint64_t copy;     /* of the last one for which it was looked at */
	bool uncertain;    /* which of the functions in it a call is of */
	bool has_state;
	uint64_t state_pc;        /* where it was interrupted, */
	struct sw_v8_state state; /* the same each time */
};

/* The state of the copies. */
struct sw_v8_copies {
	struct sw_arena arena;
	struct sw_map64 by_pc; /* -> sw_v8_known_code */
	struct sw_map64 texts; /* by hash -> the arena's */
	uint64_t number;       /* of the copy */
	int64_t renewed_ns;
	uint64_t doubtful_sp, doubtful_pc; /* of a frame that is marked; 0: none */
};

void sw_v8_copies_deinit(struct sw_v8 *v8);
/* There is another copy. False: too much was kept. */
bool sw_v8_copies_renew(struct sw_v8 *v8);

/* The function of a JSFunction: by copies that of the copy. */
bool sw_v8_function_shared(struct sw_v8 *v8, uint64_t function, uint64_t *ret);

/* Which function a SharedFunctionInfo is, however often it moves. 0: it is not known. */
uint64_t sw_v8_identity(struct sw_v8 *v8, uint64_t shared);

/* By copies: whether the function is the one of the copy still. */
bool sw_v8_is_still(struct sw_v8 *v8, uint64_t shared);

/* Code, as sw_v8_code_find(): by copies what was found before, if it is there. */
bool sw_v8_code_at(struct sw_v8 *v8, uint64_t pc, struct sw_v8_code *ret);
/* By copies: whether code was found at that pc before, which is no code of WebAssembly. */
bool sw_v8_is_known_code(const struct sw_v8 *v8, uint64_t pc);
/* By copies: the code that sw_v8_code_at() has found; NULL: none. */
struct sw_v8_known_code *sw_v8_known_code(struct sw_v8 *v8, uint64_t pc);

/* By copies: whether code was there before the copy was made, and is there still. */
bool sw_v8_is_proven_code(struct sw_v8 *v8, const struct sw_cursor *cursor,
			  const struct sw_v8_known_code *code);

#endif
