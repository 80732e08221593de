/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * In whose body a frame is. A with statement keeps the object's __exit__ on the frame's stack of values from
 * before it calls __enter__; in the body it is what the handler of the body's exceptions finds there, and
 * only there: neither while __enter__ runs, nor as soon as __exit__ is about to be called.
 *
 *	3.8 - 3.10   the frame has a stack of blocks: one of the type SETUP_FINALLY, whose handler begins with
 *	             WITH_CLEANUP_START (3.8) or WITH_EXCEPT_START; the method is below the block's level
 *	3.11 on      the code has a table: which handler is for which instructions, and how deep the stack is
 *	             there. That of a with statement is PUSH_EXC_INFO, WITH_EXCEPT_START. Which handler is for
 *	             a handler tells what is around it
 *
 *	             stack, at that depth: ... __exit__          up to 3.13: bound to the object
 *	                                   ... __exit__  object  3.14
 *
 * Entries of the table: start, size, target, depth * 2 + 1 bit, in numbers of 6 bits a byte, the first byte
 * of an entry has bit 7, one that another one follows bit 6; instructions are counted by 2 bytes.
 *
 * Source: Python/ceval.c and Python/compile.c (SETUP_WITH, PyFrame_BlockSetup()) of 3.8 to 3.10,
 * Objects/exception_handling_notes.txt and Python/bytecodes.c (BEFORE_WITH, LOAD_SPECIAL,
 * WITH_EXCEPT_START) of 3.11 to 3.14; offsets by the debug information of builds of 3.8.18 to 3.13.0, and
 * of 3.14.10 by what it shows of itself; opcodes by Lib/opcode.py of each.
 */
#include "runtimes/cpython/structures/withs.h"
#include "bytes.h"

#include <string.h>

enum {
	HEAD_TYPE = 8, /* of PyObject */
	TYPE_NAME = 24,
	BYTES_SIZE = 16, /* of a bytes object */
	BYTES_DATA = 32,
	/* A function in C that is bound: what it is, and to which object. */
	METHOD_DEFINITION = 16,
	METHOD_SELF = 24,
	/* A frame that is an object, in words of 4 bytes from where it says how many blocks there are. */
	FRAME_VALUES = 64,
	FRAME_BLOCKS_8 = 112,
	FRAME_BLOCKS_10 = 104,
	BLOCKS_HEAD_WORDS = 2,
	BLOCK_WORDS = 3,
	SETUP_FINALLY = 122,
	/* Code objects, from 3.11 on. */
	CODE_TABLE = 40,
	NUMBER_BYTES = 4, /* before how many variables there are: the first line */
	TABLE_BYTES_MAX = 2048,
	DEPTH_MAX = 1 << 16,
	VARIABLES_MAX = 1 << 16,
	HANDLERS_MAX = 64,
};

struct withs {
	const struct sw_cpython_at *at;
	struct sw_memory memory;
	void (*each)(void *arg, uint64_t object_avma, uint64_t exit_avma);
	void *arg;
	size_t n;
};

/* The context manager of a `with` statement is on the stack: slot_avma is the uppermost slot of the
 * statement. */
static bool slot_use(struct withs *w, uint64_t slot_avma)
{
	uint64_t value, self, more = w->at->layout.head_more;
	if (w->n == SW_CPYTHON_WITHS_MAX || !sw_memory_u64(w->memory, slot_avma, &value))
		return false;
	w->n++;
	value &= ~UINT64_C(7); /* from 3.14 on a reference that is not counted is marked */
	if (value == 0)
		return true; /* 3.14: of a class that has no such method */
	if (w->at->layout.minor >= 14) {
		w->each(w->arg, value, 0);
		return true;
	}
	if (!sw_memory_u64(w->memory, value + METHOD_SELF + more, &self))
		return false;
	w->each(w->arg, self, value);
	return true;
}

/* ---- 3.8 to 3.10 ------------------------------------------------------------------------------- */

static bool block_use(struct withs *w, uint64_t instructions, uint64_t values,
		      const uint32_t block[static BLOCK_WORDS])
{
	unsigned minor = w->at->layout.minor;
	uint64_t handler = minor == 10 ? 2 * (uint64_t) block[1] : block[1];
	uint8_t opcode;
	if (block[0] != SETUP_FINALLY)
		return true;
	if (block[1] > INT32_MAX || !sw_memory_read(w->memory, instructions + handler, &opcode, 1))
		return false;
	if (opcode != (minor == 8 ? 81 : 49))
		return true;
	return block[2] > 0 && block[2] <= DEPTH_MAX &&
	       slot_use(w, values + 8 * (uint64_t) (block[2] - 1));
}

static bool of_blocks(struct withs *w, const struct sw_cpython_frame *frame)
{
	uint32_t words[BLOCKS_HEAD_WORDS + SW_CPYTHON_WITHS_MAX * BLOCK_WORDS];
	uint64_t off = w->at->layout.minor == 10 ? FRAME_BLOCKS_10 : FRAME_BLOCKS_8, values;
	struct sw_cpython_code code;
	if (!sw_memory_read(w->memory, frame->avma + off, words, sizeof(words)))
		return false;
	if (words[0] == 0)
		return true;
	if (words[0] > SW_CPYTHON_WITHS_MAX ||
	    !sw_memory_u64(w->memory, frame->avma + FRAME_VALUES, &values) ||
	    !sw_cpython_code_read(w->at, w->memory, frame->code_avma, &code))
		return false;
	bool all = true;
	for (size_t i = words[0]; i > 0; i--)
		all &= block_use(w, code.instructions_avma + BYTES_DATA, values,
				 words + BLOCKS_HEAD_WORDS + (i - 1) * BLOCK_WORDS);
	return all;
}

/* ---- from 3.11 on ------------------------------------------------------------------------------ */

struct handler {
	uint32_t target, depth;
};

static bool number_read(struct sw_bytes table, size_t *at, uint32_t *ret)
{
	uint8_t byte;
	*ret = 0;
	do {
		if (*ret >> 24 || !sw_bytes_u8(table, (*at)++, &byte))
			return false;
		*ret = *ret << 6 | (byte & 0x3f);
	} while (byte & 0x40);
	return true;
}

/* The handler of the instruction with that number; *ret_found says whether it has one. Returns
 * false if the table is damaged. */
static bool handler_find(struct sw_bytes table, uint32_t index, struct handler *ret,
			 bool *ret_found)
{
	*ret_found = false;
	for (size_t at = 0; at < table.size;) {
		uint32_t start, size, target, depth;
		if (!number_read(table, &at, &start) || !number_read(table, &at, &size) ||
		    !number_read(table, &at, &target) || !number_read(table, &at, &depth))
			return false;
		if (start > index) /* they are in order */
			return true;
		if (index - start >= size)
			continue;
		*ret = (struct handler){target, depth >> 1};
		*ret_found = true;
		return true;
	}
	return true;
}

static bool is_with(const struct withs *w, uint64_t handler_avma, bool *ret)
{
	static const struct {
		uint8_t push_exc_info, with_except_start;
	} opcodes[] = {{35, 49}, {35, 49}, {33, 44}, {32, 43}}; /* from 3.11 on */
	unsigned i = w->at->layout.minor - 11U;
	uint8_t bytes[3];
	if (i >= sizeof(opcodes) / sizeof(opcodes[0]) ||
	    !sw_memory_read(w->memory, handler_avma, bytes, sizeof(bytes)))
		return false;
	*ret = bytes[0] == opcodes[i].push_exc_info && bytes[2] == opcodes[i].with_except_start;
	return true;
}

/* From the innermost handler outwards: each is that of the one before it. */
static bool of_table(struct withs *w, const struct sw_cpython_frame *frame, struct sw_bytes table,
		     uint64_t start_avma, uint64_t stack_avma)
{
	uint64_t index = (frame->instruction - start_avma) / 2;
	if (frame->instruction < start_avma || index > UINT32_MAX)
		return true; /* not begun */
	for (size_t i = 0; i < HANDLERS_MAX; i++) {
		struct handler h;
		bool found, with;
		if (!handler_find(table, (uint32_t) index, &h, &found))
			return false;
		if (!found)
			return true;
		if (h.depth > DEPTH_MAX || !is_with(w, start_avma + 2 * (uint64_t) h.target, &with))
			return false;
		if (with &&
		    (h.depth == 0 || !slot_use(w, stack_avma + 8 * (uint64_t) (h.depth - 1))))
			return false;
		index = h.target;
	}
	return false;
}

static bool of_code(struct withs *w, const struct sw_cpython_frame *frame)
{
	const struct sw_cpython_layout *l = &w->at->layout;
	struct sw_cpython_code code;
	uint8_t bytes[TABLE_BYTES_MAX];
	uint64_t table, size, start;
	int32_t n_variables;
	if (!sw_cpython_code_read(w->at, w->memory, frame->code_avma, &code) ||
	    !sw_memory_u64(w->memory, code.avma + CODE_TABLE + l->head_more, &table) ||
	    !sw_memory_u64(w->memory, table + BYTES_SIZE + l->head_more, &size))
		return false;
	if (size == 0)
		return true;
	if (size > sizeof(bytes) ||
	    !sw_memory_read(w->memory, table + BYTES_DATA + l->head_more, bytes, (size_t) size) ||
	    !sw_memory_read(w->memory, code.avma + l->code_first_line + NUMBER_BYTES, &n_variables,
			    sizeof(n_variables)) ||
	    n_variables < 0 || n_variables > VARIABLES_MAX ||
	    !sw_cpython_code_start(w->at, w->memory, &code, frame, &start))
		return false;
	return of_table(w, frame, (struct sw_bytes){bytes, (size_t) size}, start,
			frame->avma + l->frame_locals + 8 * (uint64_t) n_variables);
}

bool sw_cpython_withs_each(const struct sw_cpython_at *at, struct sw_memory memory,
			   const struct sw_cpython_frame *frame,
			   void (*each)(void *arg, uint64_t object_avma, uint64_t exit_avma),
			   void *arg)
{
	struct withs w = {.at = at, .memory = memory, .each = each, .arg = arg};
	return at->layout.pairing == SW_CPYTHON_BY_CONTENT ? of_blocks(&w, frame)
							   : of_code(&w, frame);
}

static bool is_text(struct sw_memory memory, uint64_t at_avma, const char *wanted, size_t size)
{
	char text[32];
	uint64_t avma;
	return size <= sizeof(text) && sw_memory_u64(memory, at_avma, &avma) &&
	       sw_memory_read(memory, avma, text, size) && memcmp(text, wanted, size) == 0;
}

bool sw_cpython_is_exit(const struct sw_cpython_at *at, struct sw_memory copied,
			struct sw_memory memory, uint64_t exit_avma)
{
	static const char type_name[] = "builtin_function_or_method", name[] = "__exit__";
	uint64_t more = at->layout.head_more, type, definition;
	return sw_memory_u64(copied, exit_avma + HEAD_TYPE + more, &type) &&
	       sw_memory_u64(copied, exit_avma + METHOD_DEFINITION + more, &definition) &&
	       is_text(memory, type + TYPE_NAME + more, type_name, sizeof(type_name)) &&
	       is_text(memory, definition, name, sizeof(name));
}
