/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Source: src/hotspot/share/oops/constMethod.hpp, method.cpp (line_number_from_bci()), symbol.hpp,
 * code/compressedStream.hpp and utilities/unsigned5.hpp; jdk-17.0.15 and jdk-25.0.3.
 */
#include "runtimes/hotspot/structures/method.h"
#include "bytes.h"
#include "runtimes/hotspot/structures/copies.h"

#include <string.h>

bool sw_hotspot_symbol_read(const struct sw_hotspot *h, uint64_t symbol, char *ret, size_t size)
{
	uint16_t length;
	uint32_t both;
	if (sw_hotspot_u16(h->memory, symbol, h->at.symbol_length, &length))
		;
	else if (sw_hotspot_u32(h->memory, symbol, h->at.symbol_length_and_refcount, &both))
		length = (uint16_t) (both >> 16);
	else
		return false;
	if (symbol == 0 || length >= size ||
	    !sw_memory_read(h->memory, symbol + (uint64_t) h->at.symbol_body, ret, length))
		return false;
	ret[length] = '\0';
	return memchr(ret, '\0', length) == NULL;
}

/* Bit 0 was a mark once. */
bool sw_hotspot_pool_symbol(const struct sw_hotspot *h, uint64_t pool, uint16_t index, char *ret,
			    size_t size)
{
	uint64_t symbol;
	return index != 0 &&
	       sw_memory_u64(h->memory, pool + (uint64_t) h->at.pool_bytes + UINT64_C(8) * index,
			     &symbol) &&
	       sw_hotspot_symbol_read(h, symbol & ~UINT64_C(1), ret, size);
}

/* Hidden classes have "+0x" and an address behind their names ("/0x" until 14 and for users): it is
 * another one in every run. */
static void class_name_fit(char *name)
{
	char *mark = strstr(name, "+0x");
	if (mark == NULL)
		mark = strstr(name, "/0x");
	if (mark != NULL)
		*mark = '\0';
	for (char *c = name; *c != '\0'; c++)
		if (*c == '/')
			*c = '.';
}

bool sw_hotspot_class_read(const struct sw_hotspot *h, uint64_t klass, char *ret, size_t size)
{
	uint64_t symbol;
	if (klass % 8 != 0 || !sw_hotspot_u64(h->memory, klass, h->at.klass_name, &symbol) ||
	    !sw_hotspot_symbol_read(h, symbol, ret, size))
		return false;
	class_name_fit(ret);
	return true;
}

static void file_read(struct sw_hotspot *h, uint64_t pool, uint64_t klass, char *ret, size_t size)
{
	uint16_t index;
	bool known = h->at.pool_source != SW_HOTSPOT_NONE
			     ? sw_hotspot_u16(h->memory, pool, h->at.pool_source, &index)
			     : sw_hotspot_u16(h->memory, klass, h->at.klass_source, &index);
	if (!known || !sw_hotspot_pool_symbol(h, pool, index, ret, size))
		ret[0] = '\0';
}

/* The texts of a method. */
struct texts {
	char class_name[SW_HOTSPOT_SYMBOL_MAX], own[SW_HOTSPOT_SYMBOL_MAX],
		args[4 * SW_HOTSPOT_SYMBOL_MAX], file[SW_HOTSPOT_SYMBOL_MAX];
};

static bool texts_read(struct sw_hotspot *h, uint64_t avma, struct sw_hotspot_method *ret,
		       struct texts *texts)
{
	const struct sw_hotspot_layout *at = &h->at;
	struct sw_memory m = h->memory;
	uint64_t pool, klass, symbol;
	uint16_t code_bytes, name, signature, flags;
	if (avma == 0 || avma % 8 != 0 ||
	    !sw_hotspot_u64(m, avma, at->method_const, &ret->const_avma) ||
	    ret->const_avma % 8 != 0 ||
	    !sw_hotspot_u64(m, ret->const_avma, at->const_constants, &pool) ||
	    !sw_hotspot_u16(m, ret->const_avma, at->const_code_size, &code_bytes) ||
	    !sw_hotspot_u16(m, ret->const_avma, at->const_name, &name) ||
	    !sw_hotspot_u16(m, ret->const_avma, at->const_signature, &signature) ||
	    !sw_hotspot_u16(m, ret->const_avma, at->const_flags, &flags) ||
	    !sw_hotspot_u64(m, pool, at->pool_holder, &klass) ||
	    !sw_hotspot_u64(m, klass, at->klass_name, &symbol) ||
	    !sw_hotspot_symbol_read(h, symbol, texts->class_name, sizeof(texts->class_name)) ||
	    !sw_hotspot_pool_symbol(h, pool, name, texts->own, sizeof(texts->own)) ||
	    !sw_hotspot_pool_symbol(h, pool, signature, texts->args, sizeof(texts->args)) ||
	    texts->args[0] != '(')
		return false;
	file_read(h, pool, klass, texts->file, sizeof(texts->file));
	class_name_fit(texts->class_name);
	ret->code_bytes = code_bytes;
	ret->code_avma = code_bytes > 0 ? ret->const_avma + (uint64_t) at->const_bytes : 0;
	ret->has_lines = flags & at->line_table_flag;
	return true;
}

static bool method_read(struct sw_hotspot *h, uint64_t avma, struct sw_hotspot_method *ret)
{
	struct texts texts;
	if (!texts_read(h, avma, ret, &texts))
		return false;
	ret->name = sw_arena_printf(&h->arena, "%s.%s", texts.class_name, texts.own);
	ret->signature = sw_arena_strdup(&h->arena, texts.args);
	ret->file = sw_arena_strdup(&h->arena, texts.file);
	return ret->name != NULL && ret->signature != NULL && ret->file != NULL;
}

/* Whether a Method is still what was read there. */
static bool is_same(struct sw_hotspot *h, uint64_t avma, const struct sw_hotspot_method *method)
{
	struct texts texts;
	struct sw_hotspot_method now = {0};
	if (!texts_read(h, avma, &now, &texts) || now.const_avma != method->const_avma ||
	    now.code_bytes != method->code_bytes || now.has_lines != method->has_lines)
		return false;
	size_t n = strlen(texts.class_name);
	return strncmp(method->name, texts.class_name, n) == 0 && method->name[n] == '.' &&
	       strcmp(method->name + n + 1, texts.own) == 0 &&
	       strcmp(method->signature, texts.args) == 0 && strcmp(method->file, texts.file) == 0;
}

/* By copies: proof.doubtful says whether the copy may have had another one. */
static bool is_that_of_copy(struct sw_hotspot *h, uint64_t avma, struct sw_hotspot_method *method)
{
	struct sw_hotspot_proof *proof = &method->proof;
	if (sw_hotspot_is_proven(h, proof)) {
		proof->doubtful = false;
		return true;
	}
	if (proof->first_ns != 0 && !is_same(h, avma, method))
		return false;
	proof->doubtful = !sw_hotspot_prove(h, true, proof);
	return true;
}

const struct sw_hotspot_method *sw_hotspot_method_get(struct sw_hotspot *h, uint64_t avma)
{
	uint64_t kept;
	if (sw_map64_get(&h->methods, avma, &kept) && !h->by_copies)
		return (const struct sw_hotspot_method *) (uintptr_t) kept;
	if (sw_map64_get(&h->methods, avma, &kept) && kept != 0 &&
	    is_that_of_copy(h, avma, (struct sw_hotspot_method *) (uintptr_t) kept))
		return (const struct sw_hotspot_method *) (uintptr_t) kept;
	struct sw_hotspot_method read = {0}, *method = NULL;
	if (method_read(h, avma, &read)) {
		method = sw_arena_alloc(&h->arena, sizeof(*method));
		if (method == NULL)
			return NULL;
		*method = read;
	}
	if (method != NULL && h->by_copies)
		(void) is_that_of_copy(h, avma, method); /* it is: nothing else was read */
	(void) sw_map64_put(&h->methods, avma, (uintptr_t) method); /* lost: it is read again */
	return method;
}

void sw_hotspot_method_meet(struct sw_hotspot *h, uint64_t avma)
{
	uint64_t kept;
	if (sw_map64_get(&h->methods, avma, &kept) && kept != 0)
		sw_hotspot_is_met(h, &((struct sw_hotspot_method *) (uintptr_t) kept)->proof);
}

/* ---- lines -------------------------------------------------------------------------------- */

bool sw_hotspot_unsigned5(struct sw_bytes bytes, uint64_t *off, unsigned base, uint32_t *ret)
{
	uint32_t sum = 0;
	for (unsigned i = 0; i < 5; i++) {
		uint8_t b;
		if (!sw_bytes_u8(bytes, *off, &b) || b < base)
			return false;
		++*off;
		sum += (uint32_t) (b - base) << (6 * i);
		if (b < 192 || i == 4) {
			*ret = sum;
			return true;
		}
	}
	return false;
}

static bool signed5(struct sw_bytes bytes, uint64_t *off, unsigned base, int32_t *ret)
{
	uint32_t v;
	if (!sw_hotspot_unsigned5(bytes, off, base, &v))
		return false;
	*ret = (int32_t) ((v >> 1) ^ -(v & 1));
	return true;
}

/* Bytes that may be read up to the end of the structure; more than the memory has are not there. */
static size_t table_read(const struct sw_hotspot *h, uint64_t avma, uint8_t *to, size_t max)
{
	size_t n = 0;
	while (n < max) {
		size_t step = 256 - (size_t) ((avma + n) % 256);
		if (step > max - n)
			step = max - n;
		if (!sw_memory_read(h->memory, avma + n, to + n, step))
			break;
		n += step;
	}
	return n;
}

/* The row with the greatest bytecode index that is not behind bci. */
static uint32_t line_find(struct sw_bytes table, unsigned base, int32_t bci)
{
	uint64_t off = 0;
	int32_t at = 0, line = 0, best_at = -1, best = 0;
	for (size_t i = 0; i < SW_HOTSPOT_LINES_MAX; i++) {
		uint8_t b;
		int32_t more_at = 0, more = 0;
		if (!sw_bytes_u8(table, off, &b) || b == 0)
			break;
		off++;
		if (b != 0xff) {
			more_at = b >> 3;
			more = b & 7;
		} else if (!signed5(table, &off, base, &more_at) ||
			   !signed5(table, &off, base, &more)) {
			break;
		}
		if (__builtin_add_overflow(at, more_at, &at) ||
		    __builtin_add_overflow(line, more, &line))
			break;
		if (at == bci)
			return line > 0 ? (uint32_t) line : 0;
		if (at < bci && at >= best_at) {
			best_at = at;
			best = line;
		}
	}
	return best > 0 ? (uint32_t) best : 0;
}

uint32_t sw_hotspot_method_line(struct sw_hotspot *h, const struct sw_hotspot_method *method,
				int32_t bci)
{
	/* Nearly all tables are short. */
	static const size_t sizes[] = {512, SW_HOTSPOT_LINE_BYTES};
	uint32_t line = 0;
	if (bci == SW_HOTSPOT_BCI_ENTRY)
		bci = 0;
	if (!method->has_lines || bci < 0 || (uint32_t) bci >= method->code_bytes)
		return 0;
	uint64_t avma = method->code_avma + method->code_bytes;
	for (size_t i = 0; i < 2; i++) {
		uint8_t *bytes = malloc(sizes[i]);
		if (bytes == NULL)
			return 0;
		size_t n = table_read(h, avma, bytes, sizes[i]);
		bool whole = memchr(bytes, '\0', n) != NULL;
		line = line_find((struct sw_bytes){bytes, n}, sw_hotspot_unsigned5_base(h), bci);
		free(bytes);
		if (whole)
			break;
	}
	return line;
}
