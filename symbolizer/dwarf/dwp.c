/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "dwarf/dwp.h"

enum {
	HEADER_BYTES = 16,
	COLUMNS_MAX = 16,
	/* DW_SECT_: the same in both versions but for 8, which is .debug_macro in the older one. */
	SECT_INFO = 1,
	SECT_ABBREV = 3,
	SECT_STR_OFFSETS = 6,
	SECT_RNGLISTS_5 = 8,
};

struct index {
	struct sw_bytes bytes;
	uint32_t version, columns, units, slots;
};

static bool index_read(struct sw_bytes bytes, struct index *ret)
{
	struct index i = {.bytes = bytes};
	/* Version 5 is a half word and padding: zero. */
	if (!sw_bytes_u32(bytes, 0, &i.version) || (i.version != 2 && i.version != 5) ||
	    !sw_bytes_u32(bytes, 4, &i.columns) || !sw_bytes_u32(bytes, 8, &i.units) ||
	    !sw_bytes_u32(bytes, 12, &i.slots) || i.columns > COLUMNS_MAX || i.slots == 0 ||
	    (i.slots & (i.slots - 1)) != 0)
		return false;
	*ret = i;
	return sw_bytes_has(bytes, HEADER_BYTES, (uint64_t) i.slots * 12);
}

/* Open addressing with a second hash as the step, which is odd: each slot comes once. */
static uint32_t row_find(const struct index *i, uint64_t id)
{
	uint64_t mask = i->slots - 1, step = ((id >> 32) & mask) | 1, slot = id & mask;
	for (uint32_t n = 0; n < i->slots; n++, slot = (slot + step) & mask) {
		uint64_t key;
		uint32_t row;
		if (!sw_bytes_u64(i->bytes, HEADER_BYTES + slot * 8, &key) ||
		    !sw_bytes_u32(i->bytes, HEADER_BYTES + (uint64_t) i->slots * 8 + slot * 4,
				  &row) ||
		    row == 0)
			return 0;
		if (key == id)
			return row <= i->units ? row : 0;
	}
	return 0;
}

uint32_t sw_dwp_row(struct sw_bytes index, uint64_t dwo_id)
{
	struct index i;
	return index_read(index, &i) ? row_find(&i, dwo_id) : 0;
}

/* SW_DWARF_SECTIONS: a section that is not wanted. */
static enum sw_dwarf_which which_of(const struct index *i, uint32_t sect)
{
	switch (sect) {
	case SECT_INFO: return SW_DWARF_INFO;
	case SECT_ABBREV: return SW_DWARF_ABBREV;
	case SECT_STR_OFFSETS: return SW_DWARF_STR_OFFSETS;
	case SECT_RNGLISTS_5: return i->version == 5 ? SW_DWARF_RNGLISTS : SW_DWARF_SECTIONS;
	default: return SW_DWARF_SECTIONS;
	}
}

bool sw_dwp_narrow(const struct sw_elf *dwp, uint64_t dwo_id, struct sw_dwarf_plan *plan)
{
	struct sw_elf_section section;
	struct sw_bytes bytes;
	struct index i;
	if (!sw_elf_section_named(dwp, ".debug_cu_index", &section) ||
	    !sw_elf_section_bytes(dwp, &section, &bytes) || !index_read(bytes, &i))
		return false;
	uint32_t row = row_find(&i, dwo_id);
	/* The ids of the columns, then the offsets of all rows, then their sizes. */
	uint64_t ids = HEADER_BYTES + (uint64_t) i.slots * 12, line = (uint64_t) i.columns * 4;
	uint64_t offs = ids + row * line, sizes = offs + i.units * line;
	for (uint32_t k = 0; row != 0 && k < i.columns; k++) {
		uint32_t sect, off, size;
		if (!sw_bytes_u32(bytes, ids + k * 4, &sect) ||
		    !sw_bytes_u32(bytes, offs + k * 4, &off) ||
		    !sw_bytes_u32(bytes, sizes + k * 4, &size))
			return false;
		enum sw_dwarf_which which = which_of(&i, sect);
		if (which == SW_DWARF_SECTIONS || plan->wanted[which].section.type == SHT_NULL)
			continue;
		struct sw_dwarf_wanted *w = &plan->wanted[which];
		if (off > w->part_bytes || size > w->part_bytes - off)
			return false;
		w->part_off += off;
		w->part_bytes = size;
	}
	return row != 0;
}
