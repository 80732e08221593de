/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "dwarf_units.h"
#include "dwarf/deadline.h"

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

/* A set of .debug_aranges: length, version 2, offset of the unit, sizes of address and segment; then,
 * aligned to a tuple from the set's start, tuples of start and length (DWARF 5, 6.1.2). */
struct set {
	struct sw_bytes bytes; /* all of it, with its length */
	uint64_t unit_off;
	uint64_t tuples_off;   /* in bytes; 0: a version or a size of address that nobody writes */
	uint8_t address_bytes; /* 8; 4 for i386 */
};

/* An address or a length of the set. */
static bool set_word(const struct set *set, uint64_t off, uint64_t *ret)
{
	uint32_t word;
	if (set->address_bytes == sizeof(uint64_t))
		return sw_bytes_u64(set->bytes, off, ret);
	if (!sw_bytes_u32(set->bytes, off, &word))
		return false;
	*ret = word;
	return true;
}

/* False when it is cut. */
static bool set_read(struct sw_bytes aranges, uint64_t at, struct set *ret)
{
	uint32_t length32, off32 = 0;
	uint16_t version = 0;
	uint8_t segment_bytes = 0;
	uint64_t length, unit_off = 0;
	if (!sw_bytes_u32(aranges, at, &length32))
		return false;
	bool wide = length32 == UINT32_MAX;
	length = length32;
	if (wide && !sw_bytes_u64(aranges, at + 4, &length))
		return false;
	uint64_t field = wide ? 12 : 4;
	struct set set = {0};
	if (length > aranges.size || !sw_bytes_sub(aranges, at, field + length, &set.bytes))
		return false;
	(void) sw_bytes_u16(set.bytes, field, &version); /* a short set is a bad version */
	field += 2;
	if (wide)
		(void) sw_bytes_u64(set.bytes, field, &unit_off);
	else if (sw_bytes_u32(set.bytes, field, &off32))
		unit_off = off32;
	field += wide ? 8 : 4;
	if (version == 2 && sw_bytes_u8(set.bytes, field, &set.address_bytes) &&
	    (set.address_bytes == 8 || set.address_bytes == 4) &&
	    sw_bytes_u8(set.bytes, field + 1, &segment_bytes) && segment_bytes == 0) {
		uint64_t tuple_bytes = 2 * (uint64_t) set.address_bytes;
		set.tuples_off = (field + 2 + tuple_bytes - 1) & ~(tuple_bytes - 1);
	}
	set.unit_off = unit_off;
	*ret = set;
	return true;
}

void sw_dwarf_aranges_match(struct sw_bytes aranges, struct sw_dwarf_want *wants, size_t n)
{
	struct set set;
	size_t matches = 0;
	for (uint64_t at = 0; set_read(aranges, at, &set); at += set.bytes.size) {
		uint64_t tuple = set.tuples_off, start, bytes;
		for (; tuple != 0 && set_word(&set, tuple, &start) &&
		       set_word(&set, tuple + set.address_bytes, &bytes);
		     tuple += 2 * (uint64_t) set.address_bytes) {
			matches += range_match(wants, n, start, bytes, set.unit_off);
			if (matches > ARANGES_MATCHES_MAX)
				return;
		}
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
