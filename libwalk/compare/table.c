/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "compare/table.h"
#include "bytes.h"
#include "cleanup.h"
#include "snapshot/bias.h"
#include "snapshot/snapshot.h"

enum {
	/* DW_EH_PE_* of LSB 5.0, core, §10.5.1: the only encodings that linkers write. */
	EH_PE_OMIT = 0xff,
	EH_PE_UDATA4 = 0x03,
	EH_PE_DATAREL_SDATA4 = 0x3b,
	EH_HDR_BYTES = 12, /* four encodings, eh_frame_ptr, fde_count */
	EH_ENTRY_BYTES = 8,
	INSTRUCTIONS_MAX = 1 << 16, /* bytes of one CIE or FDE */
	REGISTERS = 17,             /* DWARF_NUM_PRESERVED_REGS of libunwind on x86-64 */
	RA_COLUMN = 16,
};

static bool table_fill(unw_dyn_info_t *info, const struct sw_place *place, uint64_t hdr_avma,
		       uint64_t hdr_bytes, struct sw_memory memory)
{
	uint8_t hdr[EH_HDR_BYTES];
	if (hdr_bytes < sizeof(hdr) || !sw_memory_read(memory, hdr_avma, hdr, sizeof(hdr)))
		return false;
	/* LSB 5.0, core, §10.6.2: version, encodings of pointer, count and table. */
	if (hdr[0] != 1 || (hdr[1] & 0x0f) == 0 || hdr[1] == EH_PE_OMIT || hdr[2] != EH_PE_UDATA4 ||
	    hdr[3] != EH_PE_DATAREL_SDATA4)
		return false;
	uint32_t count;
	memcpy(&count, hdr + 8, sizeof(count));
	if (count > (hdr_bytes - sizeof(hdr)) / EH_ENTRY_BYTES)
		return false;
	*info = (unw_dyn_info_t){
		.start_ip = place->start_avma,
		.end_ip = place->end_avma,
		.format = UNW_INFO_FORMAT_REMOTE_TABLE,
		.u.rti = {.segbase = hdr_avma,
			  .table_data = hdr_avma + sizeof(hdr),
			  .table_len = (unw_word_t) count * EH_ENTRY_BYTES / sizeof(unw_word_t)},
	};
	return true;
}

static bool table_from_image(struct sw_libunwind_table *table, const struct sw_place *place,
			     struct sw_memory memory)
{
	const struct sw_elf *elf = sw_module_elf(place->module);
	struct sw_elf_segment hdr; /* LSB 5.0, core, §11.2 */
	return elf != NULL && sw_elf_segment_typed(elf, PT_GNU_EH_FRAME, &hdr) &&
	       table_fill(&table->info, place, hdr.svma + place->bias, hdr.memory_bytes, memory);
}

static bool table_from_section(struct sw_libunwind_table *table, const struct sw_snapshot *snap,
			       const struct sw_place *place)
{
	if (!sw_libunwind_index_init(&table->index, place->module))
		return false;
	uint64_t number = (uint64_t) (place - snap->places);
	table->info = (unw_dyn_info_t){
		.start_ip = place->start_avma,
		.end_ip = place->end_avma,
		.format = UNW_INFO_FORMAT_REMOTE_TABLE,
		.u.rti = {.segbase = table->index.section_svma + place->bias,
			  .table_data =
				  SW_LIBUNWIND_INDEX_AVMA + number * SW_LIBUNWIND_INDEX_STRIDE,
			  .table_len =
				  table->index.n_entries * EH_ENTRY_BYTES / sizeof(unw_word_t)},
	};
	return true;
}

bool sw_libunwind_table_find(struct sw_libunwind_table *table, const struct sw_snapshot *snap,
			     const struct sw_place *place, struct sw_memory memory)
{
	if (table->state != 0)
		return table->state > 0;
	table->state = -1;
	/* The place is the snapshot's and not const there; its bias is lazy. */
	if (!sw_place_resolve((struct sw_place *) place, snap))
		return false;
	if (table_from_image(table, place, memory) || table_from_section(table, snap, place))
		table->state = 1;
	return table->state > 0;
}

void sw_libunwind_table_deinit(struct sw_libunwind_table *table)
{
	sw_libunwind_index_deinit(&table->index);
}

bool sw_libunwind_index_word(const struct sw_libunwind_table *tables, size_t n, uint64_t avma,
			     uint64_t *ret)
{
	uint64_t number = (avma - SW_LIBUNWIND_INDEX_AVMA) / SW_LIBUNWIND_INDEX_STRIDE;
	uint64_t offset = (avma - SW_LIBUNWIND_INDEX_AVMA) % SW_LIBUNWIND_INDEX_STRIDE;
	if (avma < SW_LIBUNWIND_INDEX_AVMA || number >= n)
		return false;
	const struct sw_libunwind_index *index = &tables[number].index;
	struct sw_bytes entries = {(const uint8_t *) index->entries,
				   index->n_entries * sizeof(*index->entries)};
	return sw_bytes_u64(entries, offset, ret);
}

/* Unsigned and signed LEB128 have the same length; the value matters for registers only. */
static bool leb_read(struct sw_bytes b, uint64_t *offset, uint64_t *ret)
{
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 70; shift += 7) {
		uint8_t byte;
		if (!sw_bytes_u8(b, (*offset)++, &byte))
			return false;
		if (shift < 63)
			value |= (uint64_t) (byte & 0x7f) << shift;
		else if (byte & 0x7f)
			value = UINT64_MAX; /* far out of any range */
		if (!(byte & 0x80)) {
			*ret = value;
			return true;
		}
	}
	return false;
}

/*
 * Operands of a call frame instruction: DWARF 5, table 7.29, and the GNU ones of binutils'
 * include/dwarf2.def. 'u' is a LEB128 number, 'r' one that names a register to copy, 'b' a block with
 * its length, digits are bytes. NULL refuses: also set_loc, whose operand's size hangs on the CIE and
 * which no compiler for x86-64 writes.
 */
static const char *operands_of(uint8_t op)
{
	switch (op) {
	case 0x00: return "";   /* nop */
	case 0x02: return "1";  /* advance_loc1 */
	case 0x03: return "2";  /* advance_loc2 */
	case 0x04: return "4";  /* advance_loc4 */
	case 0x05: return "uu"; /* offset_extended */
	case 0x06: return "u";  /* restore_extended */
	case 0x07: return "u";  /* undefined */
	case 0x08: return "u";  /* same_value */
	case 0x09: return "ur"; /* register */
	case 0x0a: return "";   /* remember_state */
	case 0x0b: return "";   /* restore_state */
	case 0x0c: return "uu"; /* def_cfa */
	case 0x0d: return "u";  /* def_cfa_register */
	case 0x0e: return "u";  /* def_cfa_offset */
	case 0x0f: return "b";  /* def_cfa_expression */
	case 0x10: return "ub"; /* expression */
	case 0x11: return "uu"; /* offset_extended_sf */
	case 0x12: return "uu"; /* def_cfa_sf */
	case 0x13: return "u";  /* def_cfa_offset_sf */
	case 0x14: return "uu"; /* val_offset */
	case 0x15: return "uu"; /* val_offset_sf */
	case 0x16: return "ub"; /* val_expression */
	case 0x2e: return "u";  /* GNU_args_size */
	case 0x2f: return "uu"; /* GNU_negative_offset_extended */
	}
	return NULL;
}

static bool operands_ok(struct sw_bytes b, uint64_t *offset, const char *operands)
{
	for (; *operands != '\0'; operands++) {
		uint64_t value;
		if (*operands >= '1' && *operands <= '9') {
			*offset += (uint64_t) (*operands - '0');
			continue;
		}
		if (!leb_read(b, offset, &value))
			return false;
		if (*operands == 'r' && value >= REGISTERS)
			return false;
		if (*operands == 'b') {
			if (!sw_bytes_has(b, *offset, value))
				return false;
			*offset += value;
		}
	}
	return *offset <= b.size;
}

static bool range_ok(struct sw_memory memory, uint64_t start_avma, uint64_t end_avma,
		     uint8_t *buffer)
{
	enum { OP_OFFSET = 2, OP_HIGH_BITS = 6 };
	if (start_avma > end_avma || end_avma - start_avma > INSTRUCTIONS_MAX)
		return false;
	struct sw_bytes b = {buffer, (size_t) (end_avma - start_avma)};
	if (b.size > 0 && !sw_memory_read(memory, start_avma, buffer, b.size))
		return false;
	uint64_t offset = 0;
	while (offset < b.size) {
		uint8_t op = b.data[offset++];
		uint64_t ignored;
		if (op >> OP_HIGH_BITS == OP_OFFSET) {
			if (!leb_read(b, &offset, &ignored))
				return false;
		} else if (op >> OP_HIGH_BITS == 0) {
			const char *operands = operands_of(op);
			if (operands == NULL || !operands_ok(b, &offset, operands))
				return false;
		}
	}
	return true;
}

bool sw_libunwind_instructions_ok(const unw_proc_info_t *info, struct sw_memory memory)
{
	/* struct dwarf_cie_info of libunwind's include/dwarf.h begins with these words, the same in
	 * 1.3.2, 1.6.2 and 1.8.3. It is not in a public header. */
	struct {
		unw_word_t cie_start, cie_end, fde_start, fde_end, code_align, data_align,
			ra_column;
	} cie;
	if (info->format != UNW_INFO_FORMAT_TABLE || info->unwind_info == NULL)
		return false;
	memcpy(&cie, info->unwind_info, sizeof(cie));
	if (cie.ra_column != RA_COLUMN)
		return false;
	uint8_t *buffer = malloc(INSTRUCTIONS_MAX);
	bool ok = buffer != NULL && range_ok(memory, cie.cie_start, cie.cie_end, buffer) &&
		  range_ok(memory, cie.fde_start, cie.fde_end, buffer);
	free(buffer);
	return ok;
}
