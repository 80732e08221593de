/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Code of WebAssembly is no object of the heap. A single variable leads to all of it:
 *
 *	global_wasm_state -> { ranges of code, a tree: start -> end, NativeModule
 *	                       (13.6 on: code that belongs to no module, a tree: start -> WasmCode) }
 *	NativeModule      -> { its code, a tree: start -> WasmCode; code that is not in the tree yet: an array of
 *	                       WasmCode; the module's functions; its bytes }
 *
 * Nodes of a tree (libstdc++'s std::map): colour, parent, left, right, key, value.
 *
 * Source: src/wasm/wasm-code-manager.h, wasm-engine.cc, wasm-module.h, wasm-import-wrapper-cache.h of V8 10.2
 * to 14.6; offsets as node 18.20.8, 20.20.2, 22.23.3, 24.21.0 and 26.10.0 for x86-64 have them.
 */
#include "runtimes/v8/wasm.h"
#include "runtimes/v8/objects/positions.h"

#include <string.h>

enum {
	TREE_DEPTH_MAX = 64,
	TREE_PARENT = 8, /* of the head: its root */
	TREE_LEFT = 16,
	TREE_RIGHT = 24,
	TREE_KEY = 32,
	TREE_VALUE = 40,
	TREE_BYTES = 40, /* of a head: what follows it begins there */
	NEW_CODE_MAX = 256,
	CODE_MAX = 16 << 20, /* bytes of one part of code */
	CODE_BYTES = 128,    /* of a WasmCode that are read */
	FUNCTION_BYTES = 32, /* of a WasmFunction */
	FUNCTION_INDEX = 8,
	FUNCTION_OFFSET = 16,
	FUNCTION_LENGTH = 20,
	INLINED_BYTES = 13, /* function, whether it was a tail call, position of the call */
	PUSH = 0x68,
	JUMP_NEAR = 0xe9,
	PUSH_BYTES = 5,
};

static uint32_t u32_at(const uint8_t *bytes, int32_t off)
{
	uint32_t value;
	memcpy(&value, bytes + off, sizeof(value));
	return value;
}

static uint64_t u64_at(const uint8_t *bytes, int32_t off)
{
	uint64_t value;
	memcpy(&value, bytes + off, sizeof(value));
	return value;
}

/* The node with the greatest key that is not behind avma; 0: none. */
static uint64_t tree_find(struct sw_v8_heap heap, uint64_t head_avma, uint64_t avma)
{
	uint64_t node, best = 0;
	if (!sw_memory_u64(heap.memory, head_avma + TREE_PARENT, &node))
		return 0;
	for (size_t depth = 0; node != 0 && depth < TREE_DEPTH_MAX; depth++) {
		uint64_t key;
		if (!sw_memory_u64(heap.memory, node + TREE_KEY, &key))
			return 0;
		bool fits = key <= avma;
		if (fits)
			best = node;
		if (!sw_memory_u64(heap.memory, node + (fits ? TREE_RIGHT : TREE_LEFT), &node))
			return 0;
	}
	return node == 0 ? best : 0;
}

static bool code_read(struct sw_v8_heap heap, uint64_t object, uint64_t module, uint64_t avma,
		      struct sw_v8_wasm_code *ret)
{
	const struct sw_v8_wasm_layout *at = &heap.at->wasm;
	uint8_t bytes[CODE_BYTES];
	if (!sw_memory_read(heap.memory, object, bytes, sizeof(bytes)))
		return false;
	uint64_t start = u64_at(bytes, 8), meta = u64_at(bytes, at->code_meta);
	/* Sizes: of code; of what stands before the positions. */
	uint32_t size = u32_at(bytes, at->code_sizes), reloc = u32_at(bytes, at->code_sizes + 4),
		 protected = u32_at(bytes, at->code_protected);
	if (u64_at(bytes, 0) != module || start > avma || size > CODE_MAX || avma - start >= size)
		return false;
	*ret = (struct sw_v8_wasm_code){
		.object = object,
		.module = module,
		.start_avma = start,
		.end_avma = start + size,
		.index = u32_at(bytes, at->code_index),
		.positions_avma = meta + protected + reloc,
		.positions_bytes = u32_at(bytes, at->code_sizes + 8),
	};
	uint8_t flags = bytes[at->code_flags];
	uint8_t kind = flags & ((1U << at->kind_bits) - 1);
	ret->liftoff = (flags >> at->kind_bits & 3) == 1;
	ret->kind = kind == 0                ? SW_V8_WASM_FUNCTION
		    : kind == at->kind_jumps ? SW_V8_WASM_JUMPS
					     : SW_V8_WASM_WRAPPER;
	if (at->has_inlined)
		ret->inlined_bytes = u32_at(bytes, at->code_sizes + 12);
	ret->inlined_avma = ret->positions_avma + ret->positions_bytes;
	return true;
}

/* Code that was made a moment ago is in no tree yet. */
static bool new_code_find(struct sw_v8_heap heap, uint64_t module, uint64_t avma,
			  struct sw_v8_wasm_code *ret)
{
	uint64_t bounds[2], object;
	if (!sw_memory_read(heap.memory,
			    module + (uint64_t) heap.at->wasm.module_codes + TREE_BYTES, bounds,
			    sizeof(bounds)) ||
	    bounds[1] < bounds[0])
		return false;
	for (size_t i = 0; i < NEW_CODE_MAX && i < (bounds[1] - bounds[0]) / 8; i++)
		if (sw_memory_u64(heap.memory, bounds[0] + 8 * i, &object) &&
		    code_read(heap, object, module, avma, ret))
			return true;
	return false;
}

static bool find(struct sw_v8_heap heap, uint64_t state_avma, uint64_t avma,
		 struct sw_v8_wasm_code *ret)
{
	const struct sw_v8_wasm_layout *at = &heap.at->wasm;
	uint64_t state, node, end, module, object;
	if (state_avma == 0 || !sw_memory_u64(heap.memory, state_avma, &state) || state == 0)
		return false;
	node = tree_find(heap, state + (uint64_t) at->state_ranges, avma);
	if (node != 0 && sw_memory_u64(heap.memory, node + TREE_VALUE, &end) && avma < end &&
	    sw_memory_u64(heap.memory, node + TREE_VALUE + 8, &module)) {
		node = tree_find(heap, module + (uint64_t) at->module_codes, avma);
		return (node != 0 && sw_memory_u64(heap.memory, node + TREE_VALUE, &object) &&
			code_read(heap, object, module, avma, ret)) ||
		       new_code_find(heap, module, avma, ret);
	}
	if (at->state_wrappers == SW_V8_NONE)
		return false;
	node = tree_find(heap, state + (uint64_t) at->state_wrappers, avma);
	return node != 0 && sw_memory_u64(heap.memory, node + TREE_VALUE, &object) &&
	       code_read(heap, object, 0, avma, ret);
}

/* ---- functions ----------------------------------------------------------------------------- */

/* Where the bytes of a function begin in its module, and how many there are. */
static bool function_bytes(struct sw_v8_heap heap, uint64_t native_module, uint32_t index,
			   uint32_t *ret_offset, uint32_t *ret_length)
{
	uint64_t module, bounds[2];
	uint8_t bytes[FUNCTION_BYTES];
	if (native_module == 0 ||
	    !sw_memory_u64(heap.memory, native_module + (uint64_t) heap.at->wasm.module_module,
			   &module) ||
	    !sw_memory_read(heap.memory, module + (uint64_t) heap.at->wasm.module_functions, bounds,
			    sizeof(bounds)) ||
	    bounds[1] < bounds[0] || index >= (bounds[1] - bounds[0]) / FUNCTION_BYTES ||
	    !sw_memory_read(heap.memory, bounds[0] + FUNCTION_BYTES * (uint64_t) index, bytes,
			    sizeof(bytes)) ||
	    u32_at(bytes, FUNCTION_INDEX) != index)
		return false;
	*ret_offset = u32_at(bytes, FUNCTION_OFFSET);
	*ret_length = u32_at(bytes, FUNCTION_LENGTH);
	return true;
}

static int64_t offset_of(struct sw_v8_heap heap, uint64_t module, uint32_t index, uint64_t position)
{
	uint32_t offset, length;
	int32_t in_function = sw_v8_position_in_source(position);
	if (in_function < 0 || !function_bytes(heap, module, index, &offset, &length) ||
	    (uint32_t) in_function >= length)
		return -1;
	return (int64_t) offset + in_function;
}

bool sw_v8_wasm_find(struct sw_v8_heap heap, uint64_t state_avma, uint64_t avma,
		     struct sw_v8_wasm_code *ret)
{
	uint32_t offset, length;
	struct sw_v8_wasm_code code;
	if (!find(heap, state_avma, avma, &code) ||
	    (code.kind == SW_V8_WASM_FUNCTION &&
	     !function_bytes(heap, code.module, code.index, &offset, &length)))
		return false;
	*ret = code;
	return true;
}

/* A call that was compiled in: which function, and where the call is. */
static bool inlined_call(struct sw_v8_heap heap, const struct sw_v8_wasm_code *code, uint32_t i,
			 uint32_t *ret_index, uint64_t *ret_position)
{
	uint8_t bytes[INLINED_BYTES];
	uint32_t offset, length;
	if (i >= code->inlined_bytes / INLINED_BYTES ||
	    !sw_memory_read(heap.memory, code->inlined_avma + INLINED_BYTES * (uint64_t) i, bytes,
			    sizeof(bytes)))
		return false;
	*ret_index = u32_at(bytes, 0);
	*ret_position = u64_at(bytes, 5);
	return function_bytes(heap, code->module, *ret_index, &offset, &length);
}

size_t sw_v8_wasm_levels(struct sw_v8_heap heap, const struct sw_v8_wasm_code *code, uint64_t pc,
			 struct sw_v8_wasm_level ret[SW_V8_WASM_INLINED_MAX], bool *ret_certain)
{
	int64_t at;
	uint64_t position;
	size_t n = 0;
	*ret_certain = false;
	ret[0] = (struct sw_v8_wasm_level){code->index, -1};
	if (!sw_v8_positions_find(heap, code->positions_avma, code->positions_bytes,
				  (int64_t) (pc - code->start_avma) - 1, &at, &position)) {
		*ret_certain = code->inlined_bytes == 0;
		return 1;
	}
	uint32_t id = sw_v8_position_inlined(position);
	for (uint32_t last = UINT32_MAX; id != 0; n++) {
		uint64_t outer;
		uint32_t index;
		/* An inlined call stands behind the one into which it was inlined. */
		if (n + 1 >= SW_V8_WASM_INLINED_MAX || id >= last ||
		    !inlined_call(heap, code, id - 1, &index, &outer)) {
			ret[0] = (struct sw_v8_wasm_level){code->index, -1};
			return 1;
		}
		ret[n] = (struct sw_v8_wasm_level){index,
						   offset_of(heap, code->module, index, position)};
		last = id;
		position = outer;
		id = sw_v8_position_inlined(position);
	}
	ret[n] = (struct sw_v8_wasm_level){code->index,
					   offset_of(heap, code->module, code->index, position)};
	*ret_certain = true;
	return n + 1;
}

void sw_v8_wasm_touch(struct sw_v8_heap heap, const struct sw_v8_wasm_code *code)
{
	uint64_t position, bytes[2] = {0};
	int64_t at;
	uint32_t index, offset, length;
	if (code->kind != SW_V8_WASM_FUNCTION)
		return;
	/* All of it is read on the way to its end; what it says is not needed here. */
	(void) sw_v8_positions_find(heap, code->positions_avma, code->positions_bytes, INT64_MAX,
				    &at, &position);
	(void) function_bytes(heap, code->module, code->index, &offset, &length);
	(void) sw_memory_read(heap.memory, code->module + (uint64_t) heap.at->wasm.module_bytes,
			      bytes, sizeof(bytes));
	(void) sw_memory_read(heap.memory, bytes[0], bytes, sizeof(bytes));
	uint32_t n = code->inlined_bytes / INLINED_BYTES, most = SW_V8_TABLE_MAX / INLINED_BYTES;
	for (uint32_t i = 0; i < n && i < most; i++)
		if (!inlined_call(heap, code, i, &index, &position))
			break;
}

uint32_t sw_v8_wasm_jump_words(struct sw_v8_heap heap, uint64_t pc, uint64_t start_avma)
{
	uint8_t jump, push;
	return pc - start_avma >= PUSH_BYTES && sw_memory_read(heap.memory, pc, &jump, 1) &&
	       jump == JUMP_NEAR && sw_memory_read(heap.memory, pc - PUSH_BYTES, &push, 1) &&
	       push == PUSH;
}

bool sw_v8_wasm_script(struct sw_v8_heap heap, uint64_t instance, uint64_t *ret)
{
	const struct sw_v8_wasm_layout *at = &heap.at->wasm;
	uint64_t object = instance, module;
	if (at->data_instance != SW_V8_NONE &&
	    !sw_v8_object(heap, instance, at->data_instance, at->type_instance, &object))
		return false;
	return sw_v8_object(heap, object, at->instance_module, at->type_module, &module) &&
	       sw_v8_object(heap, module, at->module_script, heap.at->type_script, ret);
}
