/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "dwarf/ranges.h"

#include <dwarf.h>

enum {
	RANGES_MAX = 1 << 16,
	LEB_BYTES_MAX = 10,
	RNGLISTS_HEADER_BYTES =
		12, /* in the 32-bit format; in the other one nobody writes .dwo files */
};

static bool leb_read(struct sw_bytes bytes, uint64_t *at, uint64_t *ret)
{
	uint64_t value = 0;
	for (unsigned i = 0; i < LEB_BYTES_MAX; i++) {
		uint8_t byte;
		if (!sw_bytes_u8(bytes, (*at)++, &byte))
			return false;
		value |= i < LEB_BYTES_MAX - 1 ? (uint64_t) (byte & 0x7f) << (7 * i) : 0;
		if (!(byte & 0x80)) {
			*ret = value;
			return true;
		}
	}
	return false;
}

/* Where the DIE's list starts. The form's bytes lie in memory of ours with zeros behind it. */
static bool list_find(struct sw_dwarf_ranges *r)
{
	Dwarf_Attribute attr;
	const struct sw_bytes value = {NULL, LEB_BYTES_MAX};
	struct sw_bytes bytes = value;
	uint64_t at = 0, index;
	uint32_t off;
	if (dwarf_attr(r->die, DW_AT_ranges, &attr) == NULL)
		return false;
	bytes.data = attr.valp;
	if (attr.form == DW_FORM_sec_offset && sw_bytes_u32(bytes, 0, &off)) {
		r->off = off;
		return true;
	}
	if (attr.form != DW_FORM_rnglistx || !leb_read(bytes, &at, &index) || index > UINT32_MAX ||
	    !sw_bytes_u32(r->skeleton->rnglists, RNGLISTS_HEADER_BYTES + index * 4, &off))
		return false;
	r->off = RNGLISTS_HEADER_BYTES + off;
	return true;
}

void sw_dwarf_ranges_begin(struct sw_dwarf_ranges *r, Dwarf_Die *die,
			   const struct sw_dwarf_skeleton *skeleton)
{
	*r = (struct sw_dwarf_ranges){.die = die, .skeleton = skeleton};
	if (skeleton != NULL && dwarf_hasattr(die, DW_AT_ranges)) {
		r->own = true;
		r->base = skeleton->base;
		r->n = list_find(r) ? 0 : RANGES_MAX;
	}
}

static bool address_read(const struct sw_dwarf_ranges *r, struct sw_bytes bytes, uint64_t off,
			 uint64_t *ret)
{
	uint32_t word;
	if (r->skeleton->address_bytes == sizeof(uint64_t))
		return sw_bytes_u64(bytes, off, ret);
	if (!sw_bytes_u32(bytes, off, &word))
		return false;
	*ret = word;
	return true;
}

/* The next range of .debug_ranges: DWARF 4, 2.17.3. */
static bool next_4(struct sw_dwarf_ranges *r, uint64_t *start, uint64_t *end)
{
	const uint8_t bytes = r->skeleton->address_bytes;
	const uint64_t largest = bytes == sizeof(uint64_t) ? UINT64_MAX : UINT32_MAX;
	while (r->n++ < RANGES_MAX && address_read(r, r->skeleton->ranges, r->off, start) &&
	       address_read(r, r->skeleton->ranges, r->off + bytes, end)) {
		r->off += 2 * (uint64_t) bytes;
		if (*start == 0 && *end == 0)
			return false;
		if (*start == largest) {
			r->base = *end;
			continue;
		}
		*start += r->base;
		*end += r->base;
		return true;
	}
	return false;
}

/* The kind of an operand of an entry in .debug_rnglists. */
enum operand { NONE, INDEX, NUMBER, ADDRESS };

static bool operand_read(struct sw_dwarf_ranges *r, enum operand kind, uint64_t *ret)
{
	const uint8_t bytes = r->skeleton->address_bytes;
	uint64_t index;
	switch (kind) {
	case INDEX:
		return leb_read(r->skeleton->rnglists, &r->off, &index) && index <= UINT32_MAX &&
		       address_read(r, r->skeleton->addr, index * bytes, ret);
	case NUMBER: return leb_read(r->skeleton->rnglists, &r->off, ret);
	case ADDRESS:
		r->off += bytes;
		return address_read(r, r->skeleton->rnglists, r->off - bytes, ret);
	default: return true;
	}
}

/* DWARF 5, 2.17.3. */
static bool next_5(struct sw_dwarf_ranges *r, uint64_t *start, uint64_t *end)
{
	static const enum operand operands[][2] = {
		[DW_RLE_end_of_list] = {NONE, NONE},     [DW_RLE_base_addressx] = {INDEX, NONE},
		[DW_RLE_startx_endx] = {INDEX, INDEX},   [DW_RLE_startx_length] = {INDEX, NUMBER},
		[DW_RLE_offset_pair] = {NUMBER, NUMBER}, [DW_RLE_base_address] = {ADDRESS, NONE},
		[DW_RLE_start_end] = {ADDRESS, ADDRESS}, [DW_RLE_start_length] = {ADDRESS, NUMBER},
	};
	uint8_t kind;
	while (r->n++ < RANGES_MAX && sw_bytes_u8(r->skeleton->rnglists, r->off++, &kind) &&
	       kind != DW_RLE_end_of_list && kind <= DW_RLE_start_length) {
		if (!operand_read(r, operands[kind][0], start) ||
		    !operand_read(r, operands[kind][1], end))
			return false;
		if (kind == DW_RLE_base_addressx || kind == DW_RLE_base_address) {
			r->base = *start;
			continue;
		}
		if (kind == DW_RLE_offset_pair) {
			*start += r->base;
			*end += r->base;
		} else if (kind == DW_RLE_startx_length || kind == DW_RLE_start_length) {
			*end += *start;
		}
		return true;
	}
	return false;
}

bool sw_dwarf_ranges_next(struct sw_dwarf_ranges *r, uint64_t *start, uint64_t *end)
{
	if (r->own && r->skeleton->rnglists.size > 0)
		return next_5(r, start, end);
	if (r->own)
		return next_4(r, start, end);
	if (r->n++ == RANGES_MAX)
		return false;
	r->at = dwarf_ranges(r->die, r->at, &r->base, start, end);
	return r->at > 0;
}
