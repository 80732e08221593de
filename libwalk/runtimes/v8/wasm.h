/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_V8_WASM_H
#define SW_V8_WASM_H

#include "runtimes/v8/objects/object.h"

enum sw_v8_wasm_kind {
	SW_V8_WASM_FUNCTION,
	SW_V8_WASM_WRAPPER, /* from WebAssembly to JavaScript or C */
	SW_V8_WASM_JUMPS,   /* a table of jumps, by which functions call each other and builtins */
};

enum { SW_V8_WASM_INLINED_MAX = 32 };

/* A WasmCode: code that a compiler of WebAssembly has made. */
struct sw_v8_wasm_code {
	uint64_t object;               /* 0: none */
	uint64_t module;               /* the NativeModule; 0: it belongs to the process */
	uint64_t start_avma, end_avma; /* with the tables behind the instructions */
	enum sw_v8_wasm_kind kind;
	bool liftoff;
	uint32_t index; /* of the function */
	uint64_t positions_avma, inlined_avma;
	uint32_t positions_bytes, inlined_bytes;
};

/*
 * That which has an address in it. state_avma is that of the variable that leads to all of them; 0: it is
 * not known.
 */
bool sw_v8_wasm_find(struct sw_v8_heap heap, uint64_t state_avma, uint64_t avma,
		     struct sw_v8_wasm_code *ret);

/* A function of those that a place of compiled code executes. */
struct sw_v8_wasm_level {
	uint32_t index;
	int64_t offset; /* in the module's bytes; -1: unknown */
};

/* The functions that the call which returns to pc executes, innermost first; at least one.
 * *ret_certain is false when others may have been compiled into it. */
size_t sw_v8_wasm_levels(struct sw_v8_heap heap, const struct sw_v8_wasm_code *code, uint64_t pc,
			 struct sw_v8_wasm_level ret[SW_V8_WASM_INLINED_MAX], bool *ret_certain);

/* Reads all that the levels may need, for memory that keeps what was read. */
void sw_v8_wasm_touch(struct sw_v8_heap heap, const struct sw_v8_wasm_code *code);

/* Before the instruction at pc of a table of jumps: words that it has pushed on top of the return address. */
uint32_t sw_v8_wasm_jump_words(struct sw_v8_heap heap, uint64_t pc, uint64_t start_avma);

/* The Script, an object, of the instance that a frame of WebAssembly belongs to. */
bool sw_v8_wasm_script(struct sw_v8_heap heap, uint64_t instance, uint64_t *ret);

#endif
