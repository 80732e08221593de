/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "dwarf_units.h"
#include "deadline.h"

#include <dwarf.h>

enum {
	UNITS_MAX = 1 << 20, /* chromium has 40,000 */
	UNITS_DEADLINE_EVERY = 256,
	UNIT_RANGES_MAX = 1 << 20,
	ARANGES_MATCHES_MAX = 1 << 24, /* range and address pairs */
};

/* Index of the first want at or after svma. */
static size_t wants_from(const struct sw_dwarf_want *wants, size_t n, uint64_t svma)
{
	size_t low = 0, high = n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (wants[middle].svma < svma)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Gives the unit to the wants in [start, start + bytes) that have none yet. */
static size_t range_match(struct sw_dwarf_want *wants, size_t n, uint64_t start, uint64_t bytes,
			  uint64_t unit_off)
{
	size_t matches = 0;
	for (size_t i = wants_from(wants, n, start); i < n && wants[i].svma - start < bytes; i++) {
		matches++;
		if (wants[i].die_off == SW_NO_UNIT)
			wants[i].die_off = unit_off;
	}
	return matches;
}

/* The tuples of one set: from its header's end, aligned to a tuple from the set's start, to the set's
 * end (DWARF 5, 6.1.2). Only flat 64-bit addresses. */
static size_t set_match(struct sw_bytes set, uint64_t header_bytes, uint64_t unit_off,
			struct sw_dwarf_want *wants, size_t n)
{
	enum { TUPLE_BYTES = 16 };
	size_t matches = 0;
	uint64_t at = (header_bytes + TUPLE_BYTES - 1) & ~(uint64_t) (TUPLE_BYTES - 1);
	uint64_t start, bytes;
	for (; sw_bytes_u64(set, at, &start) && sw_bytes_u64(set, at + 8, &bytes);
	     at += TUPLE_BYTES) {
		matches += range_match(wants, n, start, bytes, unit_off);
		if (matches > ARANGES_MATCHES_MAX)
			break;
	}
	return matches;
}

void sw_dwarf_aranges_match(struct sw_bytes aranges, struct sw_dwarf_want *wants, size_t n)
{
	size_t matches = 0;
	uint64_t at = 0;
	while (at < aranges.size && matches <= ARANGES_MATCHES_MAX) {
		uint32_t length32;
		uint64_t length, unit_off, field = 4;
		bool wide = false;
		if (!sw_bytes_u32(aranges, at, &length32))
			return;
		length = length32;
		if (length32 == UINT32_MAX) {
			wide = true;
			field = 8;
			if (!sw_bytes_u64(aranges, at + 4, &length))
				return;
		}
		uint64_t length_bytes = wide ? 12 : 4;
		struct sw_bytes set;
		if (length > aranges.size ||
		    !sw_bytes_sub(aranges, at, length_bytes + length, &set))
			return;
		uint16_t version;
		uint32_t off32 = 0;
		uint8_t address_bytes, segment_bytes;
		bool valid = sw_bytes_u16(set, length_bytes, &version) && version == 2;
		if (wide) {
			valid = valid && sw_bytes_u64(set, length_bytes + 2, &unit_off);
		} else {
			valid = valid && sw_bytes_u32(set, length_bytes + 2, &off32);
			unit_off = off32;
		}
		uint64_t tail = length_bytes + 2 + field;
		valid = valid && sw_bytes_u8(set, tail, &address_bytes) && address_bytes == 8 &&
			sw_bytes_u8(set, tail + 1, &segment_bytes) && segment_bytes == 0;
		if (valid)
			matches += set_match(set, tail + 2, unit_off, wants, n);
		at += set.size;
	}
}

/* From the offset of a unit's header to that of its DIE. */
static uint64_t die_off_of(Dwarf *dwarf, uint64_t header_off)
{
	Dwarf_Off next;
	size_t header_bytes;
	if (dwarf_nextcu(dwarf, header_off, &next, &header_bytes, NULL, NULL, NULL) != 0)
		return SW_NO_UNIT;
	return header_off + header_bytes;
}

static void unit_match(Dwarf_Die *unit, struct sw_dwarf_want *wants, size_t n)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	for (int i = 0; i < UNIT_RANGES_MAX; i++) {
		at = dwarf_ranges(unit, at, &base, &start, &end);
		if (at <= 0)
			return;
		if (end > start)
			(void) range_match(wants, n, start, end - start, dwarf_dieoffset(unit));
	}
}

/* Asks every unit for its ranges. */
static bool units_scan(Dwarf *dwarf, struct sw_dwarf_want *wants, size_t n, int64_t deadline_ns)
{
	Dwarf_CU *unit = NULL;
	for (int i = 0; i < UNITS_MAX; i++) {
		Dwarf_Die die;
		uint8_t type;
		if (i % UNITS_DEADLINE_EVERY == 0 && sw_deadline_passed(deadline_ns))
			return false;
		if (dwarf_get_units(dwarf, unit, &unit, NULL, &type, &die, NULL) != 0)
			break;
		int tag = dwarf_tag(&die);
		if (tag == DW_TAG_compile_unit || tag == DW_TAG_skeleton_unit)
			unit_match(&die, wants, n);
	}
	return true;
}

bool sw_dwarf_units_find(struct sw_dwarf_file *file, struct sw_dwarf_want *wants, size_t n,
			 int64_t deadline_ns)
{
	sw_dwarf_aranges_match(file->aranges, wants, n);
	bool all = true;
	uint64_t last_header = SW_NO_UNIT, last_die = SW_NO_UNIT;
	for (size_t i = 0; i < n; i++) {
		if (wants[i].die_off != SW_NO_UNIT) {
			if (wants[i].die_off != last_header) {
				last_header = wants[i].die_off;
				last_die = die_off_of(file->dwarf, last_header);
			}
			wants[i].die_off = last_die;
		}
		all = all && wants[i].die_off != SW_NO_UNIT;
	}
	if (!all && !units_scan(file->dwarf, wants, n, deadline_ns))
		return false;
	for (size_t i = 0; i < n; i++)
		wants[i].searched = true;
	return true;
}
