/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Source: Include/cpython/{code,unicodeobject}.h, Include/object.h of the versions that layout.c names. */
#include "runtimes/cpython/structures/code.h"
#include "map.h"

#include <string.h>

enum {
	HEAD_TYPE = 8, /* of PyObject */
	/* Reference counts in builds without the GIL: of the object's own thread, and of all
	 * others. */
	HEAD_REFERENCES_LOCAL = 12,
	HEAD_REFERENCES_SHARED = 16,
	BYTES_DATA = 32, /* of a bytes object: where its bytes begin */
	CONTENTS = 24,   /* of a code object from 3.11 on */
	CONTENTS_WORDS = 3,
	COPIES_MAX = 1 << 16, /* of one code's instructions */
	STRING_LENGTH = 16,
	STRING_STATE = 32,
	CODE_BYTES_MAX = 4096 + 8,
	CHARACTERS_MAX = 4096,
	PART = 256, /* characters that are read at once */
};

static uint64_t word_at(const uint8_t *bytes, unsigned offset)
{
	uint64_t word;
	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

/*
 * An object that is freed has a pointer in place of its references, or nothing (obmalloc.c; glibc's
 * malloc, too). Immortal ones have up to 2^32 - 1; from 3.14 on there are flags in the highest 16 bits.
 * Without the GIL those that other threads have are counted from bit 2 on.
 */
static bool is_used(const struct sw_cpython_layout *l, const uint8_t *head)
{
	int64_t references = (int64_t) word_at(head, 0);
	uint32_t own;
	if (l->head_more != 0) {
		memcpy(&own, head + HEAD_REFERENCES_LOCAL, sizeof(own));
		return own > 0 || (int64_t) word_at(head, HEAD_REFERENCES_SHARED) > 3;
	}
	if (l->minor >= 14)
		references &= (INT64_C(1) << 48) - 1;
	return references > 0 && references <= UINT32_MAX;
}

/* _PyFrame_NumSlotsForCodeObject() (3.11: Python/frame.c); from 3.12 on the code object has the sum. */
static uint64_t frame_bytes(const struct sw_cpython_layout *l, const uint8_t *bytes)
{
	uint32_t words, more;
	if (l->code_frame_words == SW_CPYTHON_NONE)
		return 0;
	memcpy(&words, bytes + l->code_frame_words, sizeof(words));
	if (l->code_stack_words == SW_CPYTHON_NONE)
		return 8 * (uint64_t) words;
	memcpy(&more, bytes + l->code_stack_words, sizeof(more));
	return l->frame_locals + 8 * ((uint64_t) words + more);
}

/* 3.11 on: constants, names and the table of exceptions; 3.12: its number among all code objects. */
static uint64_t contents(const struct sw_cpython_layout *l, const uint8_t *bytes)
{
	uint64_t hash = 0;
	if (l->pairing == SW_CPYTHON_BY_CONTENT)
		return 0;
	for (unsigned i = 0; i < CONTENTS_WORDS; i++)
		hash = sw_mix64(hash ^ word_at(bytes, CONTENTS + l->head_more + i * 8));
	if (l->code_version == SW_CPYTHON_NONE)
		return hash;
	uint32_t version;
	memcpy(&version, bytes + l->code_version, sizeof(version));
	return sw_mix64(hash ^ version);
}

bool sw_cpython_code_read(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t avma,
			  struct sw_cpython_code *ret)
{
	const struct sw_cpython_layout *l = &at->layout;
	uint8_t bytes[CODE_BYTES_MAX];
	if (l->code_bytes > sizeof(bytes) || avma == 0 || avma % 8 != 0 ||
	    !sw_memory_read(memory, avma, bytes, l->code_bytes))
		return false;
	bool qualified = l->code_qualname != SW_CPYTHON_NONE;
	*ret = (struct sw_cpython_code){
		.avma = avma,
		.type_avma = word_at(bytes, HEAD_TYPE + l->head_more),
		.function_avma = word_at(bytes, qualified ? l->code_qualname : l->code_name),
		.filename_avma = word_at(bytes, l->code_filename),
		.lines_avma = word_at(bytes, l->code_lines),
		.frame_bytes = frame_bytes(l, bytes),
		.contents = contents(l, bytes),
	};
	memcpy(&ret->first_line, bytes + l->code_first_line, sizeof(ret->first_line));
	if (l->pairing == SW_CPYTHON_BY_CONTENT) {
		ret->instructions_avma = word_at(bytes, l->code_instructions);
	} else {
		int32_t index;
		memcpy(&index, bytes + l->code_traceable, sizeof(index));
		if (index >= 0 && index < INT32_MAX / 2)
			ret->traceable = 2 * index;
	}
	if (l->code_copies != SW_CPYTHON_NONE)
		ret->copies_avma = word_at(bytes, l->code_copies);
	return ret->type_avma == at->code_type_avma && is_used(l, bytes);
}

/* struct _PyCodeArray: how many there are, and where each is; the first one is in the code object. */
bool sw_cpython_code_start(const struct sw_cpython_at *at, struct sw_memory memory,
			   const struct sw_cpython_code *code, const struct sw_cpython_frame *frame,
			   uint64_t *ret)
{
	uint64_t n;
	*ret = code->avma + at->layout.code_instructions;
	if (at->layout.pairing == SW_CPYTHON_BY_CONTENT)
		*ret = code->instructions_avma + BYTES_DATA;
	if (at->layout.code_copies == SW_CPYTHON_NONE)
		return true;
	return sw_memory_u64(memory, code->copies_avma, &n) && n <= COPIES_MAX &&
	       frame->copy >= 0 && (uint64_t) frame->copy < n &&
	       sw_memory_u64(memory, code->copies_avma + 8 + 8 * (uint64_t) frame->copy, ret);
}

bool sw_cpython_code_is(const struct sw_cpython_code *a, const struct sw_cpython_code *b)
{
	return a->avma == b->avma && a->type_avma == b->type_avma &&
	       a->function_avma == b->function_avma && a->filename_avma == b->filename_avma &&
	       a->lines_avma == b->lines_avma && a->first_line == b->first_line;
}

uint64_t sw_cpython_code_identity(const struct sw_cpython_code *code)
{
	uint64_t identity = sw_mix64(code->function_avma ^ sw_mix64(code->filename_avma));
	identity = sw_mix64(identity ^ code->lines_avma);
	identity = sw_mix64(identity ^ code->first_line ^ code->contents);
	return sw_mix64(identity ^ code->type_avma);
}

/* Appends a character; false when it does not fit. */
static bool utf8_put(char **to, const char *end, uint32_t c)
{
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	static const uint8_t heads[] = {0, 0, 0xc0, 0xe0, 0xf0};
	if (c > 0x10ffff || (size_t) (end - *to) <= n)
		return false;
	for (size_t i = n; i > 1; i--, c >>= 6)
		(*to)[i - 1] = (char) (0x80 | (c & 0x3f));
	(*to)[0] = (char) (heads[n] | c);
	*to += n;
	return true;
}

/* The width of its characters, and where they are. */
static bool string_head(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t avma,
			uint64_t *ret_length, unsigned *ret_width, uint64_t *ret_data)
{
	uint64_t state;
	avma += at->layout.head_more;
	if (!sw_memory_u64(memory, avma + STRING_LENGTH, ret_length) ||
	    !sw_memory_u64(memory, avma + STRING_STATE, &state))
		return false;
	/* interned, kind, compact, ascii; what follows is not set. Interned has two bits, or (3.14
	 * without the GIL, and before 3.14 was released) a byte or a half of the word: kind is never 0. */
	unsigned shift = (state & 0xfc) != 0 ? 2 : (state & 0xff00) != 0 ? 8 : 16;
	unsigned fields = (unsigned) (state >> shift);
	*ret_width = fields & 7;
	bool compact = fields & 8, ascii = fields & 16;
	*ret_data = avma - at->layout.head_more +
		    (ascii ? at->layout.string_ascii : at->layout.string_other);
	return compact && (*ret_width == 1 || *ret_width == 2 || *ret_width == 4);
}

bool sw_cpython_string(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t avma,
		       char *ret, size_t size)
{
	uint64_t length, data;
	unsigned width;
	char *to = ret;
	if (avma == 0 || !string_head(at, memory, avma, &length, &width, &data))
		return false;
	if (length > CHARACTERS_MAX)
		length = CHARACTERS_MAX;
	for (uint64_t from = 0; from < length; from += PART) {
		uint8_t part[PART * 4];
		size_t n = length - from < PART ? (size_t) (length - from) : PART;
		if (!sw_memory_read(memory, data + from * width, part, n * width))
			return false;
		for (size_t i = 0; i < n; i++) {
			uint32_t c = 0;
			memcpy(&c, part + i * width, width);
			if (!utf8_put(&to, ret + size, c)) {
				*to = '\0';
				return to > ret;
			}
		}
	}
	*to = '\0';
	return to > ret;
}
