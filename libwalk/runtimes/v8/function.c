/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Source: src/objects/shared-function-info.tq, scope-info.tq, script.tq, debug-objects.tq of V8 10.2 to 14.6.
 *
 *	ScopeInfo  flags, parameters, locals, (13.6 on: start and end,) names of locals (one hash table when
 *	           there are many), what they are, by flags: saved class variable; name and slot of the
 *	           function's own variable; inferred name
 */
#include "runtimes/v8/function.h"

#include <string.h>

enum {
	LOCALS_INLINED_MAX = 75,
	LOCALS_MAX = 1 << 16,
	FLAG_SAVED_CLASS = 10,
	FLAG_OWN_VARIABLE = 12, /* two bits */
	FLAG_INFERRED_NAME = 14,
	DEBUG_INFO_SCRIPT = 24,
	INTERPRETER_DATA_BYTECODE = 8,
	SCRIPT_SOURCE = 8,
	SCRIPT_NAME = 16,
	SCRIPT_LINE_OFFSET = 24,
	SCRIPT_LINE_ENDS = 56,
	LINES_MAX = 1 << 20,
	SOURCE_MAX = 4 << 20, /* characters of a source that are looked at */
	CHUNK = 4096,
};

bool sw_v8_shared_of(struct sw_v8_heap heap, uint64_t function, uint64_t *ret)
{
	uint16_t type;
	return sw_v8_type(heap, function, &type) && type >= heap.at->function_first &&
	       type <= heap.at->function_last &&
	       sw_v8_object(heap, function, heap.at->function_shared, heap.at->type_shared, ret);
}

uint64_t sw_v8_shared_bytecode(struct sw_v8_heap heap, uint64_t shared)
{
	uint64_t data, bytecode;
	if (!sw_v8_word(heap, shared, SW_V8_SHARED_DATA, &data))
		return 0;
	if (sw_v8_has_type(heap, data, heap.at->type_code) &&
	    !sw_v8_word(heap, data, heap.at->code_deopt, &data))
		return 0;
	if (sw_v8_has_type(heap, data, heap.at->awaits.type_interpreter_data) &&
	    sw_v8_object(heap, data, INTERPRETER_DATA_BYTECODE, heap.at->type_bytecode, &bytecode))
		return bytecode;
	return sw_v8_has_type(heap, data, heap.at->type_bytecode) ? data : 0;
}

/* A name that is not empty. */
static bool name_read(struct sw_v8_heap heap, uint64_t string, char *ret, size_t size)
{
	return sw_v8_is_string(heap, string) && sw_v8_string(heap, string, ret, size) &&
	       ret[0] != '\0';
}

/* True: *ret is its name, "" when it has none. */
static bool scope_name(struct sw_v8_heap heap, uint64_t scope, char *ret, size_t size)
{
	uint64_t flags, locals, word;
	int64_t at = heap.at->scope_locals;
	if (!sw_v8_word(heap, scope, 8, &flags) || !sw_v8_word(heap, scope, 24, &locals) ||
	    !sw_v8_is_smi(locals) || sw_v8_smi(locals) < 0 || sw_v8_smi(locals) > LOCALS_MAX)
		return false;
	if (!heap.at->scope_flags_raw)
		flags >>= 32;
	int64_t n = sw_v8_smi(locals);
	at += 8 * (n < LOCALS_INLINED_MAX ? 2 * n : 1 + n);
	at += 8 * (int64_t) (flags >> FLAG_SAVED_CLASS & 1);
	ret[0] = '\0';
	if (flags >> FLAG_OWN_VARIABLE & 3) {
		if (!sw_v8_word(heap, scope, at, &word) ||
		    (!sw_v8_is_smi(word) && !sw_v8_is_string(heap, word)))
			return false;
		if (name_read(heap, word, ret, size))
			return true;
		at += 16;
	}
	ret[0] = '\0';
	/* undefined when there was nothing to infer it from */
	if ((flags >> FLAG_INFERRED_NAME & 1) && sw_v8_word(heap, scope, at, &word) &&
	    !name_read(heap, word, ret, size))
		ret[0] = '\0';
	return true;
}

/* The script of a function. Up to 11.3 a function that a debugger, or a measurement of coverage,
 * has looked at has it behind its debug information. */
static bool script_of(struct sw_v8_heap heap, uint64_t shared, uint64_t *ret)
{
	uint64_t word;
	if (!sw_v8_word(heap, shared, heap.at->shared_script, &word))
		return false;
	if (heap.at->type_debug_info != SW_V8_NONE &&
	    sw_v8_has_type(heap, word, heap.at->type_debug_info) &&
	    !sw_v8_word(heap, word, DEBUG_INFO_SCRIPT, &word))
		return false;
	if (!sw_v8_has_type(heap, word, heap.at->type_script))
		return false;
	*ret = word;
	return true;
}

bool sw_v8_function_read(struct sw_v8_heap heap, uint64_t shared, struct sw_v8_function *ret)
{
	static const char anonymous[] = "(anonymous)";
	uint64_t word;
	bool ok;
	*ret = (struct sw_v8_function){0};
	if (!sw_v8_has_type(heap, shared, heap.at->type_shared) ||
	    !sw_v8_word(heap, shared, heap.at->shared_name, &word))
		return false;
	if (sw_v8_has_type(heap, word, heap.at->type_scope))
		ok = scope_name(heap, word, ret->name, sizeof(ret->name));
	else if (sw_v8_is_string(heap, word))
		ok = sw_v8_string(heap, word, ret->name, sizeof(ret->name));
	else
		ok = sw_v8_is_smi(word);
	if (!ok)
		return false;
	if (ret->name[0] == '\0')
		memcpy(ret->name, anonymous, sizeof(anonymous));
	if (script_of(heap, shared, &ret->script) &&
	    (!sw_v8_word(heap, ret->script, SCRIPT_NAME, &word) ||
	     !name_read(heap, word, ret->file, sizeof(ret->file))))
		ret->file[0] = '\0';
	return true;
}

/* ---- lines --------------------------------------------------------------------------------- */

/* Positions of line ends, which V8 works out when it needs a line itself. */
static bool line_by_ends(struct sw_v8_heap heap, uint64_t ends, int32_t position, uint32_t *ret)
{
	uint64_t avma, end;
	uint32_t n, low = 0;
	if (!sw_v8_array(heap, ends, &avma, &n) || n == 0 || n > LINES_MAX)
		return false;
	for (uint32_t high = n; low < high;) {
		uint32_t middle = low + (high - low) / 2;
		if (!sw_memory_u64(heap.memory, avma + 8 * (uint64_t) middle, &end) ||
		    !sw_v8_is_smi(end))
			return false;
		if (sw_v8_smi(end) < position)
			low = middle + 1;
		else
			high = middle;
	}
	*ret = low;
	return low < n;
}

/* Line ends of the source: LF, CR, CR LF, U+2028, U+2029. */
struct counter {
	uint32_t lines, last;
};

static void count(struct counter *c, uint32_t character)
{
	if (character == '\r' || (character == '\n' && c->last != '\r') || character == 0x2028 ||
	    character == 0x2029)
		c->lines++;
	c->last = character;
}

static bool line_by_source(struct sw_v8_heap heap, uint64_t source, int32_t position, uint32_t *ret)
{
	uint8_t bytes[CHUNK];
	uint64_t avma;
	uint32_t n;
	bool wide;
	struct counter c = {0};
	if (!sw_v8_characters(heap, source, &avma, &n, &wide) || (uint32_t) position > n ||
	    position > SOURCE_MAX)
		return false;
	uint64_t left = (uint64_t) position * (wide ? 2 : 1);
	while (left > 0) {
		size_t part = left < CHUNK ? (size_t) left : CHUNK;
		if (!sw_memory_read(heap.memory, avma, bytes, part))
			return false;
		for (size_t i = 0; i < part; i += wide ? 2 : 1)
			count(&c, wide ? bytes[i] | (uint32_t) bytes[i + 1] << 8 : bytes[i]);
		avma += part;
		left -= part;
	}
	*ret = c.lines;
	return true;
}

uint32_t sw_v8_line(struct sw_v8_heap heap, uint64_t script, int32_t position)
{
	uint64_t ends, source, offset;
	uint32_t line;
	if (position < 0 || !sw_v8_word(heap, script, SCRIPT_LINE_ENDS, &ends) ||
	    !sw_v8_word(heap, script, SCRIPT_SOURCE, &source) ||
	    !sw_v8_word(heap, script, SCRIPT_LINE_OFFSET, &offset) || !sw_v8_is_smi(offset))
		return 0;
	if ((!sw_v8_is_object(ends) || !line_by_ends(heap, ends, position, &line)) &&
	    !line_by_source(heap, source, position, &line))
		return 0;
	return line + 1 + (uint32_t) sw_v8_smi(offset);
}
