/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_V8_LAYOUT_H
#define SW_V8_LAYOUT_H

#include "formats/elf_symbol.h"

enum { SW_V8_NONE = -1 };

/* Where things of WebAssembly are: wasm.c says what they are. Objects of C++, but for those of type_*. */
struct sw_v8_wasm_layout {
	int32_t state_ranges, state_wrappers;
	int32_t module_codes, module_module, module_bytes; /* of a NativeModule */
	int32_t module_functions;                          /* of the module that it leads to */
	int32_t code_meta, code_sizes, code_protected, code_index, code_flags;
	uint8_t kind_bits, kind_jumps;
	bool has_inlined;
	/* Offsets in the heap, from the word of a frame to the Script. */
	int32_t data_instance; /* SW_V8_NONE: the frame has the instance itself */
	int32_t instance_module, module_script;
	int32_t type_instance, type_module;
};

/* Builtins that continue an async function, or are what a promise calls. */
enum sw_v8_await_builtin {
	SW_V8_AWAIT_RESOLVE,
	SW_V8_AWAIT_REJECT,
	SW_V8_GENERATOR_RESOLVE,
	SW_V8_GENERATOR_REJECT,
	SW_V8_GENERATOR_YIELD,
	SW_V8_CAPABILITY_RESOLVE,
	SW_V8_ALL_ELEMENT,
	SW_V8_SETTLED_ELEMENT,
	SW_V8_ANY_ELEMENT, /* is a reject handler */
	SW_V8_AWAIT_BUILTINS,
};

/* The layout of what leads from an async function to those that await it: awaits.c. */
struct sw_v8_await_layout {
	int32_t type_function, type_generator; /* the objects of async functions and generators */
	int32_t type_promise, type_reaction, type_capability, type_request;
	int32_t type_interpreter_data;
	int32_t type_bound;
	int32_t type_fulfill_job, type_reject_job; /* handlers of a promise, while they run */
	int32_t reaction_next;
	bool has_types;
	/* V8's numbers of them, by the table that it has of its builtins. */
	int32_t builtins[SW_V8_AWAIT_BUILTINS];
	bool has_builtins;
};

/*
 * Where things are in a version of V8: from the constants that it publishes for debuggers (v8dbg_*), and
 * what they do not say by its version. Offsets count from the begin of an object; SW_V8_NONE: it has no
 * such thing.
 */
struct sw_v8_layout {
	int32_t major, minor;
	/* Published. */
	int32_t function_first, function_last; /* instance types of functions */
	int32_t type_shared, type_script, type_scope, type_bytecode, type_code, type_wrapper;
	int32_t type_debug_info; /* SW_V8_NONE: a function has its script all the same */
	int32_t function_shared, shared_name, shared_script;
	int32_t shared_literal; /* which function of its script it is; SW_V8_NONE: it is not known */
	int32_t bytecode_data, kind_baseline;
	int32_t deopt_literals, deopt_shared, deopt_positions; /* indices */
	int32_t frame_entry, frame_construct_entry, frame_wasm, frame_js_to_wasm,
		frame_types; /* frame_types: how many */
	/* By version. */
	int32_t header_code; /* from an instruction stream's begin back to the word that leads to its Code;
				SW_V8_NONE: Code and instructions are one object */
	int32_t kind_regexp;
	int32_t code_start, code_size, code_flags, code_deopt, code_positions;
	int32_t bytecode_positions;
	uint8_t jump_loop;      /* the bytecode that goes back to where a loop begins */
	int32_t scope_locals;   /* offset of the first name */
	bool scope_flags_raw;   /* an integer, no Smi */
	bool positions_flagged; /* an address's delta has two flags below it, and no sign */
	struct sw_v8_wasm_layout wasm;
	struct sw_v8_await_layout awaits;
};

/* False with *ret_missing (static) when the version is not known, or says other things than it did. */
bool sw_v8_layout_fill(const struct sw_elf_symbols *symbols, struct sw_v8_layout *ret,
		       const char **ret_missing);

/* An integer constant of the file. */
bool sw_v8_constant(const struct sw_elf_symbols *symbols, const char *name, int32_t *ret);

#endif
