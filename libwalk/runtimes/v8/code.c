/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Address -> Code, by what stands before its instructions, which begin at multiples of 64:
 *
 *	10.2        Code object of 128 bytes, instructions
 *	11.3 on     instruction stream: map, Code, ... instructions; Code says where they begin
 *
 * Source: src/objects/code.h, instruction-stream.h, deoptimization-data.h of V8 10.2 to 14.6.
 */
#include "runtimes/v8/code.h"
#include "arch/insn.h"
#include "runtimes/v8/function.h"
#include "runtimes/v8/objects/positions.h"

#include <string.h>

enum {
	ALIGN = 64,
	CHUNK = 4096,
	HEADER = 128, /* bytes before instructions that are looked at */
	KIND_MASK = 15,
	DATA = 16, /* of arrays */
	WRAPPED_SHARED = 8,
	CALL_SPAN_MAX = 512, /* bytes between a position and the end of its call */
};

static bool code_at(struct sw_v8_heap heap, uint64_t object, uint64_t start, uint64_t pc,
		    struct sw_v8_code *ret)
{
	const struct sw_v8_layout *at = heap.at;
	uint32_t size, flags;
	uint64_t said = start;
	if (!sw_v8_has_type(heap, object, at->type_code) ||
	    (at->code_start >= 0 && !sw_v8_word(heap, object, at->code_start, &said)) ||
	    said != start || !sw_v8_u32(heap, object, at->code_size, &size) ||
	    size > SW_V8_CODE_MAX || pc - start > size ||
	    !sw_v8_u32(heap, object, at->code_flags, &flags))
		return false;
	int32_t kind = (int32_t) (flags & KIND_MASK) - at->kind_baseline;
	*ret = (struct sw_v8_code){.object = object,
				   .start_avma = start,
				   .end_avma = start + size,
				   .kind = kind < 0 || kind > 2
						   ? SW_V8_OTHER_CODE
						   : SW_V8_BASELINE + (enum sw_v8_kind) kind,
				   .is_regexp = (flags & KIND_MASK) == (uint32_t) at->kind_regexp};
	return true;
}

static bool start_try(struct sw_v8_heap heap, const uint8_t *header, uint64_t start, uint64_t pc,
		      struct sw_v8_code *ret)
{
	uint64_t word, object = start - HEADER + 1;
	size_t off = heap.at->header_code < 0 ? 0 : HEADER - (size_t) heap.at->header_code;
	memcpy(&word, header + off, sizeof(word));
	if (!sw_v8_is_object(word))
		return false;
	if (heap.at->header_code >= 0)
		object = word;
	return code_at(heap, object, start, pc, ret);
}

bool sw_v8_code_find_near(struct sw_v8_heap heap, uint64_t pc, uint64_t bytes_max,
			  struct sw_v8_code *ret)
{
	uint8_t bytes[CHUNK + HEADER];
	/* pc may be behind the last instruction, where the next part begins. */
	uint64_t start = (pc - 1) & -(uint64_t) ALIGN, low = start + ALIGN;
	for (size_t n = 0; n < bytes_max / ALIGN && start >= HEADER + CHUNK; n++, start -= ALIGN) {
		if (start < low) {
			low = (start & -(uint64_t) CHUNK);
			if (!sw_memory_read(heap.memory, low - HEADER, bytes, sizeof(bytes)) &&
			    !sw_memory_read(heap.memory, low, bytes + HEADER, CHUNK))
				return false;
		}
		if (start_try(heap, bytes + (start - low), start, pc, ret))
			return true;
	}
	return false;
}

/* ---- tables -------------------------------------------------------------------------------- */

static bool element(struct sw_v8_heap heap, uint64_t array, int32_t index, uint64_t *ret)
{
	uint64_t avma;
	uint32_t n;
	return index >= 0 && sw_v8_array(heap, array, &avma, &n) && (uint32_t) index < n &&
	       sw_memory_u64(heap.memory, avma + 8 * (uint64_t) index, ret);
}

/* A SharedFunctionInfo, or what stands for one where objects of that kind may not be. */
static bool shared_take(struct sw_v8_heap heap, uint64_t word, uint64_t *ret)
{
	if ((word & 3) == 3) /* a weak one */
		word -= 2;
	if (heap.at->type_wrapper != SW_V8_NONE &&
	    sw_v8_has_type(heap, word, heap.at->type_wrapper) &&
	    !sw_v8_word(heap, word, WRAPPED_SHARED, &word))
		return false;
	if (!sw_v8_has_type(heap, word, heap.at->type_shared))
		return false;
	*ret = word;
	return true;
}

static bool deopt_data(struct sw_v8_heap heap, const struct sw_v8_code *code, uint64_t *ret)
{
	return code->kind >= SW_V8_MAGLEV &&
	       sw_v8_word(heap, code->object, heap.at->code_deopt, ret);
}

bool sw_v8_code_shared(struct sw_v8_heap heap, const struct sw_v8_code *code, uint64_t *ret)
{
	uint64_t data, word;
	return deopt_data(heap, code, &data) && element(heap, data, heap.at->deopt_shared, &word) &&
	       shared_take(heap, word, ret);
}

/* A number above 0 of the deoptimization data; 0: it has none there. */
static uint64_t deopt_number(struct sw_v8_heap heap, const struct sw_v8_code *code, int32_t index)
{
	uint64_t data, word;
	return deopt_data(heap, code, &data) && element(heap, data, index, &word) &&
			       sw_v8_is_smi(word) && sw_v8_smi(word) > 0
		       ? (uint64_t) sw_v8_smi(word)
		       : 0;
}

uint64_t sw_v8_code_entered(struct sw_v8_heap heap, const struct sw_v8_code *code)
{
	enum { BEHIND_LITERALS = 2 };
	return deopt_number(heap, code, heap.at->deopt_literals + BEHIND_LITERALS);
}

uint64_t sw_v8_code_number(struct sw_v8_heap heap, const struct sw_v8_code *code)
{
	return deopt_number(heap, code, heap.at->deopt_shared - 1);
}

/* Calls that were inlined: where from, and which function. */
struct inlined {
	uint64_t positions_avma, literals;
	uint32_t n;
};

static bool inlined_open(struct sw_v8_heap heap, const struct sw_v8_code *code, struct inlined *ret)
{
	uint64_t data, positions;
	uint32_t bytes;
	if (!deopt_data(heap, code, &data) ||
	    !element(heap, data, heap.at->deopt_positions, &positions) ||
	    !element(heap, data, heap.at->deopt_literals, &ret->literals) ||
	    !sw_v8_array(heap, positions, &ret->positions_avma, &bytes) || bytes % 16 != 0 ||
	    bytes / 16 > SW_V8_POSITIONS_MAX)
		return false;
	ret->n = bytes / 16;
	return true;
}

static bool inlined_call(struct sw_v8_heap heap, const struct inlined *inlined, uint32_t i,
			 uint64_t *ret_position, uint64_t *ret_shared)
{
	uint64_t words[2], literal;
	return i < inlined->n &&
	       sw_memory_read(heap.memory, inlined->positions_avma + 16 * (uint64_t) i, words,
			      sizeof(words)) &&
	       (*ret_position = words[0], true) &&
	       element(heap, inlined->literals, (int32_t) (uint32_t) words[1], &literal) &&
	       shared_take(heap, literal, ret_shared);
}

bool sw_v8_code_has_inlined(struct sw_v8_heap heap, const struct sw_v8_code *code)
{
	struct inlined inlined;
	return !inlined_open(heap, code, &inlined) || inlined.n > 0;
}

/* The last entry that is not behind offset, of an array of bytes. */
static bool table_find(struct sw_v8_heap heap, uint64_t array, int64_t offset, int64_t *ret_code,
		       uint64_t *ret_position)
{
	uint64_t avma;
	uint32_t n;
	return sw_v8_array(heap, array, &avma, &n) &&
	       sw_v8_positions_find(heap, avma, n, offset, ret_code, ret_position);
}

/*
 * Not every call has an entry of its own. An entry is true of the first call behind it: no other
 * call, and no end of a block, may lie between.
 */
static bool is_of_call(struct sw_v8_heap heap, uint64_t at, uint64_t return_avma)
{
	uint8_t bytes[CALL_SPAN_MAX];
	if (return_avma <= at || return_avma - at > CALL_SPAN_MAX ||
	    !sw_memory_read(heap.memory, at, bytes, (size_t) (return_avma - at)))
		return false;
	struct sw_bytes code = {bytes, (size_t) (return_avma - at)};
	/* Where a branch leads to: over a trap it is a check, and ends no block. */
	size_t checked = 0;
	for (size_t off = 0; off < code.size;) {
		struct sw_insn i;
		if (!sw_arch_insn(false, code.data + off, code.size - off, off, &i))
			return false;
		if (i.op == SW_INSN_BRANCH)
			checked = (size_t) i.target;
		off += i.length;
		if (i.op == SW_INSN_STOP && off == checked)
			continue;
		bool calls = i.op == SW_INSN_CALL;
		if (calls || i.op == SW_INSN_RETURN || i.op == SW_INSN_STOP ||
		    i.op == SW_INSN_JUMP || i.op == SW_INSN_JUMP_FAR)
			return calls && off == code.size;
	}
	return false;
}

/* Behind the function's own instructions are those that leave it for the interpreter. */
static bool is_exit(struct sw_v8_heap heap, const struct sw_v8_code *code, int64_t offset)
{
	uint64_t data, word;
	return !deopt_data(heap, code, &data) ||
	       !element(heap, data, heap.at->deopt_positions + 1, &word) || !sw_v8_is_smi(word) ||
	       (sw_v8_smi(word) > 0 && offset >= sw_v8_smi(word));
}

/* Wide, ExtraWide, and the same for the debugger. */
enum { PREFIXES = 4 };

/* True also when it is not known. */
static bool is_jump_loop(struct sw_v8_heap heap, uint64_t bytecode, int64_t offset)
{
	uint8_t byte[2];
	return !sw_memory_read(heap.memory,
			       bytecode - 1 + (uint64_t) (heap.at->bytecode_data + offset), byte,
			       sizeof(byte)) ||
	       byte[byte[0] < PREFIXES] == heap.at->jump_loop;
}

/*
 * True also when it is not known.
 *
 * Maglev may compile the first round of a loop by itself. All that it compiles of the loop after that has the
 * position of the jump back, which is that of no call.
 *
 * Source: src/maglev/maglev-graph-builder.cc of V8 12.4 to 14.6: PeelLoop() and what updates the position.
 */
static bool is_of_jump_back(struct sw_v8_heap heap, uint64_t shared, int32_t position)
{
	struct sw_v8_positions t;
	uint64_t bytecode = sw_v8_shared_bytecode(heap, shared), array, avma;
	uint32_t n_bytes;
	if (bytecode == 0 || !sw_v8_word(heap, bytecode, heap.at->bytecode_positions, &array) ||
	    !sw_v8_array(heap, array, &avma, &n_bytes) ||
	    !sw_v8_positions_open(heap, avma, n_bytes, &t))
		return true;
	for (size_t n = 0; n < SW_V8_POSITION_STEPS_MAX && sw_v8_positions_next(&t); n++)
		if (sw_v8_position_in_source((uint64_t) t.position) == position &&
		    is_jump_loop(heap, bytecode, t.code))
			return true;
	return t.avma < t.end_avma; /* the rest could not be read */
}

int32_t sw_v8_level_position(struct sw_v8_heap heap, const struct sw_v8_code *code,
			     const struct sw_v8_level *level)
{
	return code->kind == SW_V8_MAGLEV && level->position >= 0 &&
			       is_of_jump_back(heap, level->shared, level->position)
		       ? -1
		       : level->position;
}

size_t sw_v8_code_levels(struct sw_v8_heap heap, const struct sw_v8_code *code, uint64_t pc,
			 struct sw_v8_level ret[SW_V8_INLINED_MAX])
{
	struct inlined inlined;
	uint64_t array, position, shared;
	int64_t at, offset = (int64_t) (pc - code->start_avma) - 1;
	size_t n = 0;
	if (!inlined_open(heap, code, &inlined) || !sw_v8_code_shared(heap, code, &shared) ||
	    is_exit(heap, code, offset) ||
	    !sw_v8_word(heap, code->object, heap.at->code_positions, &array) ||
	    !table_find(heap, array, offset, &at, &position) ||
	    !is_of_call(heap, code->start_avma + (uint64_t) at, pc))
		return 0;
	for (uint32_t id = sw_v8_position_inlined(position), last = inlined.n + 1; id != 0; n++) {
		uint64_t outer;
		/* An inlined call stands behind the one into which it was inlined. */
		if (n + 1 >= SW_V8_INLINED_MAX || id >= last ||
		    !inlined_call(heap, &inlined, id - 1, &outer, &ret[n].shared))
			return 0;
		ret[n].position = sw_v8_position_in_source(position);
		last = id;
		position = outer;
		id = sw_v8_position_inlined(position);
	}
	ret[n].shared = shared;
	ret[n++].position = sw_v8_position_in_source(position);
	return n;
}

bool sw_v8_code_is_uncertain(struct sw_v8_heap heap, const struct sw_v8_code *code, uint64_t pc)
{
	struct sw_v8_level levels[SW_V8_INLINED_MAX];
	return code->kind >= SW_V8_MAGLEV && sw_v8_code_has_inlined(heap, code) &&
	       sw_v8_code_levels(heap, code, pc, levels) == 0;
}

static void bytes_touch(struct sw_v8_heap heap, uint64_t array)
{
	uint8_t bytes[512];
	uint64_t avma;
	uint32_t n;
	if (!sw_v8_array(heap, array, &avma, &n) || n > SW_V8_TABLE_MAX)
		return;
	for (uint32_t done = 0; done < n; done += sizeof(bytes))
		(void) sw_memory_read(heap.memory, avma + done, bytes,
				      n - done < sizeof(bytes) ? n - done
							       : sizeof(bytes)); /* kept, or not */
}

/* The function of the code; for Maglev its bytecode, too: it tells whether a position is that of a
 * call. */
static void function_tell(struct sw_v8_heap heap, const struct sw_v8_code *code, uint64_t shared,
			  const struct sw_v8_code_visitor *visitor)
{
	visitor->function(visitor->arg, shared);
	uint64_t bytecode = code->kind == SW_V8_MAGLEV ? sw_v8_shared_bytecode(heap, shared) : 0;
	if (bytecode != 0)
		visitor->bytecode(visitor->arg, bytecode);
}

static void baseline_touch(struct sw_v8_heap heap, const struct sw_v8_code *code,
			   const struct sw_v8_code_visitor *visitor)
{
	uint64_t bytecode, array;
	if (sw_v8_word(heap, code->object, heap.at->code_positions, &array))
		bytes_touch(heap, array);
	if (sw_v8_object(heap, code->object, heap.at->code_deopt, heap.at->type_bytecode,
			 &bytecode))
		visitor->bytecode(visitor->arg, bytecode);
}

void sw_v8_code_touch(struct sw_v8_heap heap, const struct sw_v8_code *code,
		      const struct sw_v8_code_visitor *visitor)
{
	struct inlined inlined;
	uint64_t word, position;
	if (code->kind == SW_V8_BASELINE) {
		baseline_touch(heap, code, visitor);
		return;
	}
	if (sw_v8_code_shared(heap, code, &word))
		function_tell(heap, code, word, visitor);
	if (!inlined_open(heap, code, &inlined))
		return;
	(void) is_exit(heap, code, 0);         /* only read */
	(void) sw_v8_code_entered(heap, code); /* only read */
	if (sw_v8_word(heap, code->object, heap.at->code_positions, &word))
		bytes_touch(heap, word);
	for (uint32_t i = 0; i < inlined.n; i++)
		if (inlined_call(heap, &inlined, i, &position, &word))
			function_tell(heap, code, word, visitor);
}

/* The bytes of the bytecode at an offset, prefix included; 0: it is not known. */
static uint32_t bytecode_bytes(struct sw_v8_heap heap, uint64_t bytecode, uint32_t offset,
			       struct sw_bytes sizes)
{
	enum { SCALES = 3 };
	size_t n = sizes.size / SCALES, scale = 0;
	uint64_t at = bytecode - 1 + (uint64_t) heap.at->bytecode_data + offset;
	uint8_t byte[2];
	if (!sw_memory_read(heap.memory, at, byte, sizeof(byte)))
		return 0;
	if (byte[0] < PREFIXES) {
		scale = 1 + byte[0] % 2;
		byte[0] = byte[1];
	}
	if (byte[0] >= n || sizes.data[scale * n + byte[0]] == 0)
		return 0;
	return sizes.data[scale * n + byte[0]] + (scale > 0);
}

/* The table has the end of the prologue, and of the code of each bytecode, as deltas. */
int32_t sw_v8_baseline_offset(struct sw_v8_heap heap, const struct sw_v8_code *code, uint64_t pc,
			      struct sw_bytes sizes, uint64_t *ret_bytecode)
{
	struct sw_v8_positions t;
	uint64_t array, avma, bytecode, end, delta, length;
	uint32_t offset = 0, bytes = 0, n_bytes;
	if (sizes.size == 0 || code->kind != SW_V8_BASELINE ||
	    !sw_v8_object(heap, code->object, heap.at->code_deopt, heap.at->type_bytecode,
			  &bytecode) ||
	    !sw_v8_word(heap, bytecode, 8, &length) || !sw_v8_is_smi(length) ||
	    !sw_v8_word(heap, code->object, heap.at->code_positions, &array) ||
	    !sw_v8_array(heap, array, &avma, &n_bytes) ||
	    !sw_v8_positions_open(heap, avma, n_bytes, &t) || !sw_v8_positions_unsigned(&t, &end) ||
	    end >= pc - code->start_avma)
		return -1;
	for (size_t n = 0; n < SW_V8_POSITION_STEPS_MAX && end < pc - code->start_avma; n++) {
		offset += bytes;
		if (offset >= (uint32_t) sw_v8_smi(length))
			return -1;
		bytes = bytecode_bytes(heap, bytecode, offset, sizes);
		if (bytes == 0 || !sw_v8_positions_unsigned(&t, &delta))
			return -1;
		end += delta;
	}
	*ret_bytecode = bytecode;
	return (int32_t) offset;
}

int32_t sw_v8_bytecode_position(struct sw_v8_heap heap, uint64_t bytecode, int32_t offset)
{
	uint64_t array, position;
	int64_t at;
	if (offset < 0 || !sw_v8_has_type(heap, bytecode, heap.at->type_bytecode) ||
	    !sw_v8_word(heap, bytecode, heap.at->bytecode_positions, &array) ||
	    !table_find(heap, array, offset, &at, &position))
		return -1;
	return sw_v8_position_in_source(position);
}
