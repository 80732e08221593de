/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The fields of a class. Up to 20 they are an array of six u2 for each: access flags, indices of
 * name, signature and value, offset << 2 | tag in two. Since 21 they are a stream of numbers:
 *
 *	fields, injected fields | name, signature, offset, access flags, flags [, value] [, generic
 *	signature] [, contention group] ...
 *
 * Source: src/hotspot/share/oops/fieldInfo.hpp of jdk-17.0.15; fieldInfo.inline.hpp
 * (FieldInfoReader::read_field_info()) of jdk-25.0.3.
 */
#include "runtimes/hotspot/structures/fields.h"
#include "bytes.h"
#include "runtimes/hotspot/structures/method.h"

#include <string.h>

enum {
	SLOTS = 6,
	STREAM_BYTES_MAX = 8192,
	FLAG_INITIALIZED = 1 << 0,
	FLAG_GENERIC = 1 << 2,
	FLAG_CONTENDED = 1 << 4,
};

/* The fields that are looked for, and the class in which they are. */
struct search {
	const struct sw_hotspot *h;
	uint64_t pool;
	struct sw_hotspot_field *fields;
	size_t n;
};

static void field_take(const struct search *s, uint16_t name, uint16_t signature, uint32_t offset)
{
	char text[64];
	if (offset > SW_HOTSPOT_OFFSET_MAX ||
	    !sw_hotspot_pool_symbol(s->h, s->pool, name, text, sizeof(text)))
		return;
	for (size_t i = 0; i < s->n; i++) {
		struct sw_hotspot_field *f = &s->fields[i];
		char type[64];
		if (f->offset == SW_HOTSPOT_NONE && strcmp(f->name, text) == 0 &&
		    sw_hotspot_pool_symbol(s->h, s->pool, signature, type, sizeof(type)) &&
		    strcmp(f->signature, type) == 0)
			f->offset = offset;
	}
}

static void array_search(const struct search *s, uint64_t array)
{
	const struct sw_hotspot_layout *at = &s->h->at;
	uint32_t length;
	uint16_t slots[SLOTS];
	if (!sw_hotspot_u32(s->h->memory, array, 0, &length))
		return;
	/* Fields that the VM has added to the class have names of another table: they come last. */
	for (size_t i = 0; i < SW_HOTSPOT_FIELDS_MAX && (i + 1) * SLOTS <= length; i++) {
		enum { ACC_FIELD_INTERNAL = 0x400, TAG_BITS = 2 };
		if (!sw_memory_read(s->h->memory,
				    array + (uint64_t) at->array_u2_data + i * sizeof(slots), slots,
				    sizeof(slots)))
			return;
		if (slots[0] & ACC_FIELD_INTERNAL)
			return;
		field_take(s, slots[1], slots[2],
			   ((uint32_t) slots[5] << 16 | slots[4]) >> TAG_BITS);
	}
}

static bool numbers_read(struct sw_bytes b, uint64_t *off, uint32_t *ret, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!sw_hotspot_unsigned5(b, off, 1, &ret[i]))
			return false;
	return true;
}

static void stream_search(const struct search *s, uint64_t array)
{
	uint8_t bytes[STREAM_BYTES_MAX];
	uint32_t length, counts[2], v[5], more[3];
	uint64_t off = 0;
	if (!sw_hotspot_u32(s->h->memory, array, 0, &length))
		return;
	if (length > sizeof(bytes))
		length = sizeof(bytes);
	if (!sw_memory_read(s->h->memory, array + (uint64_t) s->h->at.array_u1_data, bytes, length))
		return;
	struct sw_bytes b = {bytes, length};
	if (!numbers_read(b, &off, counts, 2))
		return;
	for (size_t i = 0; i < counts[0] && i < SW_HOTSPOT_FIELDS_MAX; i++) {
		if (!numbers_read(b, &off, v, 5))
			return;
		size_t n = ((v[4] & FLAG_INITIALIZED) != 0) + ((v[4] & FLAG_GENERIC) != 0) +
			   ((v[4] & FLAG_CONTENDED) != 0);
		if (!numbers_read(b, &off, more, n) || v[0] > UINT16_MAX || v[1] > UINT16_MAX)
			return;
		field_take(s, (uint16_t) v[0], (uint16_t) v[1], v[2]);
	}
}

void sw_hotspot_fields_find(const struct sw_hotspot *h, uint64_t klass,
			    struct sw_hotspot_field *fields, size_t n)
{
	const struct sw_hotspot_layout *at = &h->at;
	struct search s = {.h = h, .fields = fields, .n = n};
	uint64_t array;
	for (size_t i = 0; i < n; i++)
		fields[i].offset = SW_HOTSPOT_NONE;
	if (!sw_hotspot_u64(h->memory, klass, at->klass_constants, &s.pool))
		return;
	if (at->array_u2_data != SW_HOTSPOT_NONE &&
	    sw_hotspot_u64(h->memory, klass, at->klass_fields, &array))
		array_search(&s, array);
	else if (at->array_u1_data != SW_HOTSPOT_NONE &&
		 sw_hotspot_u64(h->memory, klass, at->klass_field_stream, &array))
		stream_search(&s, array);
}

uint64_t sw_hotspot_class_named(const struct sw_hotspot *h, uint64_t klass, const char *name)
{
	for (size_t i = 0; i < SW_HOTSPOT_SUPERS_MAX && klass != 0 && klass % 8 == 0; i++) {
		uint64_t symbol;
		char text[96];
		if (sw_hotspot_u64(h->memory, klass, h->at.klass_name, &symbol) &&
		    sw_hotspot_symbol_read(h, symbol, text, sizeof(text)) &&
		    strcmp(text, name) == 0)
			return klass;
		if (!sw_hotspot_u64(h->memory, klass, h->at.klass_super, &klass))
			return 0;
	}
	return 0;
}
