/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_V8_FRAME_H
#define SW_V8_FRAME_H

#include "runtimes/v8/instructions/flow.h"
#include "runtimes/v8/v8.h"
#include "unwind/unwinder.h"

/*
 *	[rbp + 8]   return address
 *	[rbp]       caller's rbp
 *	[rbp - 8]   of JavaScript: the context, an object; else the type of the frame, doubled
 *	[rbp - 16]  JSFunction
 *	[rbp - 32]  interpreted: BytecodeArray
 *	[rbp - 40]  interpreted: offset of the bytecode, from the array's begin on
 */
enum sw_v8_slot {
	SW_V8_SLOT_CONTEXT = 8,
	SW_V8_SLOT_FUNCTION = 16,
	SW_V8_SLOT_BYTECODE = 32,
	SW_V8_SLOT_OFFSET = 40,
};

/* Where a frame's pc is, and what holds there. */
struct sw_v8_here {
	const struct sw_v8_builtin *builtin; /* NULL: code that was made at run time */
	uint64_t off;                        /* in the builtin */
	bool is_walker;                      /* neither: program->walker */
	bool has_code;
	struct sw_v8_code code;
	bool has_wasm;
	struct sw_v8_wasm_code wasm;
	struct sw_v8_state state;
};

/* False when pc is in no code of V8. */
bool sw_v8_frame_look(struct sw_v8 *v8, const struct sw_cursor *cursor, struct sw_v8_here *ret);

/* The state at an instruction of WebAssembly's code. */
struct sw_v8_state sw_v8_wasm_state_at(struct sw_v8 *v8, const struct sw_v8_wasm_code *code,
				       uint64_t pc);

/* A word of the frame whose rbp is set up; not one that was not written yet. */
bool sw_v8_frame_slot(const struct sw_cursor *cursor, enum sw_v8_slot slot, uint64_t *ret);

/* The function of a frame that is set up, by its JSFunction. */
bool sw_v8_frame_shared(struct sw_v8 *v8, const struct sw_cursor *cursor, uint64_t *ret);

#endif
