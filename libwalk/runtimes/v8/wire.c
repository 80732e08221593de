/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 *	module       "\0asm", version 1 as 4 bytes, sections
 *	section      id as a byte, size, contents; of id 0: its name, contents
 *	"name"       subsections: id as a byte, size, contents
 *	functions    subsection 1: number, then for each: index, name; in the order of indices
 *
 * Sizes, numbers and indices are unsigned LEB128, names have their length before them.
 * Source: WebAssembly Core Specification 2.0, 5.5 "Modules" and 7.4.1 "Name Section".
 */
#include "runtimes/v8/wire.h"

#include <string.h>

enum {
	HEADER_BYTES = 8,
	SECTIONS_MAX = 4096,
	SUBSECTIONS_MAX = 64,
	NAMES_MAX = 1 << 20,
	CUSTOM = 0,
	FUNCTIONS = 1,
	CHUNK = 4096,
};

/* Bytes of the module that are gone through, from at up to end. */
struct reader {
	struct sw_memory memory;
	uint64_t at, end;
	uint8_t bytes[CHUNK];
	uint64_t bytes_avma;
	size_t n_bytes;
};

static bool byte_read(struct reader *r, uint8_t *ret)
{
	if (r->at >= r->end)
		return false;
	if (r->at < r->bytes_avma || r->at - r->bytes_avma >= r->n_bytes) {
		/* Up to a page's end: one that cannot be read is nobody else's loss. */
		size_t n = CHUNK - r->at % CHUNK;
		if (n > r->end - r->at)
			n = (size_t) (r->end - r->at);
		r->n_bytes = 0;
		if (!sw_memory_read(r->memory, r->at, r->bytes, n))
			return false;
		r->bytes_avma = r->at;
		r->n_bytes = n;
	}
	*ret = r->bytes[r->at++ - r->bytes_avma];
	return true;
}

static bool number_read(struct reader *r, uint32_t *ret)
{
	uint64_t value = 0;
	uint8_t byte;
	unsigned shift = 0;
	do {
		if (shift > 28 || !byte_read(r, &byte))
			return false;
		value |= (uint64_t) (byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	*ret = (uint32_t) value;
	return value <= UINT32_MAX;
}

/* A part that begins with its length: it ends at *ret_end. */
static bool part_read(struct reader *r, uint64_t *ret_end)
{
	uint32_t size;
	if (!number_read(r, &size) || size > r->end - r->at)
		return false;
	*ret_end = r->at + size;
	return true;
}

static bool text_read(struct reader *r, uint64_t end, char *ret, size_t size)
{
	size_t n = 0;
	uint8_t byte;
	while (r->at < end && n + 1 < size) {
		if (!byte_read(r, &byte))
			return false;
		ret[n++] = byte == '\0' ? '?' : (char) byte;
	}
	ret[n] = '\0';
	r->at = end;
	return true;
}

/* To the contents of the section "name": up to *ret_end. */
static bool section_find(struct reader *r, uint64_t *ret_end)
{
	r->at += HEADER_BYTES;
	for (size_t i = 0; i < SECTIONS_MAX; i++) {
		uint8_t id;
		uint64_t end, name_end;
		char name[sizeof("name") + 1];
		if (!byte_read(r, &id) || !part_read(r, &end))
			return false;
		if (id == CUSTOM) {
			if (!part_read(r, &name_end) || name_end > end ||
			    !text_read(r, name_end, name, sizeof(name)))
				return false;
			if (strcmp(name, "name") == 0) {
				*ret_end = end;
				return true;
			}
		}
		r->at = end;
	}
	return false;
}

static bool functions_find(struct reader *r)
{
	for (size_t i = 0; i < SUBSECTIONS_MAX; i++) {
		uint8_t id;
		uint64_t end;
		if (!byte_read(r, &id) || !part_read(r, &end))
			return false;
		if (id == FUNCTIONS) {
			r->end = end;
			return true;
		}
		r->at = end;
	}
	return false;
}

bool sw_v8_wire_name(struct sw_memory memory, uint64_t avma, uint64_t bytes, uint32_t index,
		     char *ret, size_t size)
{
	static const uint8_t magic[HEADER_BYTES] = {0, 'a', 's', 'm', 1, 0, 0, 0};
	struct reader r = {.memory = memory, .at = avma};
	uint8_t header[HEADER_BYTES];
	uint32_t n, i;
	uint64_t end;
	if (size == 0 || bytes < HEADER_BYTES || __builtin_add_overflow(avma, bytes, &r.end) ||
	    !sw_memory_read(memory, avma, header, sizeof(header)) ||
	    memcmp(header, magic, sizeof(magic)) != 0 || !section_find(&r, &end))
		return false;
	r.end = end;
	if (!functions_find(&r) || !number_read(&r, &n))
		return false;
	for (uint32_t k = 0; k < n && k < NAMES_MAX; k++) {
		if (!number_read(&r, &i) || !part_read(&r, &end))
			return false;
		if (i == index)
			return end > r.at && text_read(&r, end, ret, size);
		if (i > index)
			return false;
		r.at = end;
	}
	return false;
}
