/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tables of lines.
 * Source: Objects/lnotab_notes.txt (3.8 to 3.10), Objects/locations.md (3.11 on) of CPython.
 */
#include "runtimes/cpython/structures/lines.h"

enum { VARINT_BYTES_MAX = 6 };

static uint32_t line_of(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (uint32_t) line : 0;
}

/* 3.8, 3.9: pairs of what is added to offset and line. The line of an offset is that of the last pair
 * that does not go beyond it. */
static uint32_t line_by_increments(struct sw_bytes table, int64_t line, int64_t offset)
{
	int64_t at = 0;
	for (size_t i = 0; i + 2 <= table.size; i += 2) {
		at += table.data[i];
		if (at > offset)
			break;
		line += (int8_t) table.data[i + 1];
	}
	return line_of(line);
}

/* 3.10: pairs of the length of a range and what its line is more than that of the one before; -128:
 * it has no line. */
static uint32_t line_by_ranges(struct sw_bytes table, int64_t line, int64_t offset)
{
	int64_t end = 0;
	for (size_t i = 0; i + 2 <= table.size; i += 2) {
		int8_t more = (int8_t) table.data[i + 1];
		if (more != -128)
			line += more;
		end += table.data[i];
		if (end > offset)
			return more == -128 ? 0 : line_of(line);
	}
	return 0;
}

/* Groups of six bits, the lowest first; the next to last bit says whether one follows. */
static bool varint(struct sw_bytes table, size_t *at, int64_t *ret)
{
	uint64_t value = 0;
	for (unsigned i = 0; i < VARINT_BYTES_MAX; i++) {
		uint8_t byte;
		if (!sw_bytes_u8(table, *at, &byte))
			return false;
		(*at)++;
		value |= (uint64_t) (byte & 0x3f) << (6 * i);
		if (!(byte & 0x40)) {
			*ret = (int64_t) value;
			return true;
		}
	}
	return false;
}

enum {
	LOCATION_COLUMNS_FIRST = 10, /* and two behind it: the code says the line */
	LOCATION_COLUMNS_LAST = 12,
	LOCATION_LINE = 13,
	LOCATION_LONG = 14,
	LOCATION_NONE = 15,
};

/* 3.11 on: for ranges of instructions a first byte 1ccccnnn, with n + 1 code units, and what the code c
 * says of lines; bytes without the highest bit up to the next one are columns. */
static uint32_t line_by_locations(struct sw_bytes table, int64_t line, int64_t offset)
{
	int64_t end = 0;
	for (size_t i = 0; i < table.size;) {
		uint8_t head = table.data[i++], code = head >> 3 & 15;
		int64_t more = 0;
		if (!(head & 0x80))
			return 0;
		if (code >= LOCATION_COLUMNS_FIRST && code <= LOCATION_COLUMNS_LAST) {
			more = code - LOCATION_COLUMNS_FIRST;
		} else if (code == LOCATION_LINE || code == LOCATION_LONG) {
			if (!varint(table, &i, &more))
				return 0;
			more = more & 1 ? -(more >> 1) : more >> 1;
		}
		line += more;
		end += 2 * ((head & 7) + 1);
		if (end > offset)
			return code == LOCATION_NONE ? 0 : line_of(line);
		while (i < table.size && !(table.data[i] & 0x80))
			i++;
	}
	return 0;
}

uint32_t sw_cpython_line(unsigned minor, struct sw_bytes table, uint32_t first_line, int64_t offset)
{
	if (offset < 0)
		return line_of(first_line);
	if (minor <= 9)
		return line_by_increments(table, first_line, offset);
	if (minor == 10)
		return line_by_ranges(table, first_line, offset);
	return line_by_locations(table, first_line, offset);
}
