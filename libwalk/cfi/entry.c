/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cfi/entry.h"

#include <dwarf.h>

enum { LEB_BYTES_MAX = 10, PAIR_BYTES = 8, LETTERS_MAX = 16 };

/* A place in bytes that moves on as they are taken; failed stays set. */
struct taker {
	struct sw_bytes bytes;
	uint64_t svma; /* of bytes.data[0] */
	uint64_t text_svma, data_svma;
	uint64_t at;
	bool is_32bit;
	bool failed;
};

static uint64_t take(struct taker *t, size_t length)
{
	uint64_t value = 0;
	if (!sw_bytes_copy(t->bytes, t->at, &value, length))
		t->failed = true;
	t->at += length;
	return t->failed ? 0 : value;
}

static void skip(struct taker *t, uint64_t length)
{
	if (!sw_bytes_has(t->bytes, t->at, length))
		t->failed = true;
	else
		t->at += length;
}

/* An unsigned LEB128 number. Signed ones are as long; their value is not needed here. */
static uint64_t take_leb(struct taker *t)
{
	uint64_t value = 0;
	for (unsigned i = 0; i < LEB_BYTES_MAX; i++) {
		uint64_t byte = take(t, 1);
		value |= i < 9 ? (byte & 0x7f) << (7 * i) : 0;
		if (!(byte & 0x80))
			return value;
	}
	t->failed = true;
	return 0;
}

/* A pointer in one of the encodings that code addresses have on x86-64 and i386, not wrapped around. */
static uint64_t pointer_take(struct taker *t, uint8_t encoding)
{
	uint64_t here = t->svma + t->at, value;
	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr: value = take(t, t->is_32bit ? 4 : 8); break;
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8: value = take(t, 8); break;
	case DW_EH_PE_udata4: value = take(t, 4); break;
	case DW_EH_PE_sdata4: value = (uint64_t) (int64_t) (int32_t) take(t, 4); break;
	default: t->failed = true; return 0;
	}
	switch (encoding & 0x70) {
	case DW_EH_PE_absptr: return value;
	case DW_EH_PE_pcrel: return value + here;
	case DW_EH_PE_textrel: t->failed |= t->text_svma == 0; return value + t->text_svma;
	case DW_EH_PE_datarel: t->failed |= t->data_svma == 0; return value + t->data_svma;
	default: t->failed = true; return 0;
	}
}

static uint64_t take_pointer(struct taker *t, uint8_t encoding)
{
	uint64_t value = pointer_take(t, encoding);
	return t->is_32bit ? (uint32_t) value : value;
}

/* The fields of a CIE that its FDEs need. */
struct cie {
	bool has_data; /* 'z': FDEs have augmentation data */
	bool signal, has_lsda;
	uint8_t version, encoding;
	struct sw_bytes columns, program;
};

/* From behind the id to the end of the entry, which is the end of t->bytes. */
static bool cie_read(struct taker *t, struct cie *ret)
{
	*ret = (struct cie){.encoding = DW_EH_PE_absptr};
	uint64_t version = take(t, 1), data_end = 0;
	const char *letters;
	/* A CIE is read for each of its FDEs: letters without end would be, too. */
	struct sw_bytes head = t->bytes;
	if (head.size - t->at > LETTERS_MAX + 1)
		head.size = t->at + LETTERS_MAX + 1;
	if (t->failed || (version != 1 && version != 3 && version != 4) ||
	    !sw_bytes_str(head, t->at, &letters))
		return false;
	ret->version = (uint8_t) version;
	skip(t, strlen(letters) + 1);
	if (version == 4)
		skip(t, 2); /* sizes of addresses and segments */
	uint64_t columns_off = t->at;
	(void) take_leb(t);                               /* code alignment */
	(void) take_leb(t);                               /* data alignment */
	(void) (version == 1 ? take(t, 1) : take_leb(t)); /* return address column */
	if (t->failed || !sw_bytes_sub(t->bytes, columns_off, t->at - columns_off, &ret->columns))
		return false;
	for (const char *l = letters; *l != '\0' && !t->failed; l++) {
		if (*l == 'z') {
			ret->has_data = true;
			data_end = take_leb(t);
			data_end += t->at;
		} else if (*l == 'R') {
			ret->encoding = (uint8_t) take(t, 1);
		} else if (*l == 'L') {
			ret->has_lsda = true;
			skip(t, 1);
		} else if (*l == 'P') {
			(void) take_pointer(t, (uint8_t) take(t, 1));
		} else if (*l == 'S') {
			ret->signal = true;
		} else if (*l != 'B') {
			return false;
		}
	}
	if (ret->has_data)
		t->at = data_end;
	return !t->failed && t->at <= t->bytes.size &&
	       sw_bytes_sub(t->bytes, t->at, t->bytes.size - t->at, &ret->program);
}

/* The entry's bytes up to its end, behind its length field. 1, 0, -1 as sw_cfi_entry_read(). */
static int entry_begin(const struct sw_cfi_section *s, uint64_t offset, struct taker *ret)
{
	*ret = (struct taker){.bytes = s->bytes,
			      .svma = s->svma,
			      .text_svma = s->text_svma,
			      .data_svma = s->data_svma,
			      .at = offset,
			      .is_32bit = s->is_32bit};
	if (offset >= s->bytes.size)
		return 0;
	uint64_t length = take(ret, 4);
	if (ret->failed || length >= 0xfffffff0) /* 64-bit entries: no tool writes them */
		return -1;
	if (length == 0)
		return s->debug_frame ? -1 : 0;
	return sw_bytes_sub(s->bytes, 0, ret->at + length, &ret->bytes) ? 1 : -1;
}

static bool is_cie(const struct sw_cfi_section *s, uint64_t id)
{
	return id == (s->debug_frame ? 0xffffffff : 0);
}

int sw_cfi_entry_skip(const struct sw_cfi_section *section, uint64_t offset, bool *ret_is_cie,
		      uint64_t *ret_next_off)
{
	struct taker t;
	int r = entry_begin(section, offset, &t);
	if (r <= 0)
		return r;
	uint64_t id = take(&t, 4);
	if (t.failed)
		return -1;
	*ret_is_cie = is_cie(section, id);
	*ret_next_off = t.bytes.size;
	return 1;
}

static bool is_zero(struct sw_bytes bytes, uint64_t off, uint64_t end_off)
{
	while (off < end_off && bytes.data[off] == 0)
		off++;
	return off >= end_off;
}

int sw_cfi_entry_read(const struct sw_cfi_section *section, uint64_t offset,
		      struct sw_cfi_entry *ret)
{
	struct taker t, of_cie;
	struct cie cie;
	int r = entry_begin(section, offset, &t);
	if (r <= 0)
		return r;
	*ret = (struct sw_cfi_entry){.next_off = t.bytes.size, .is_32bit = section->is_32bit};
	uint64_t id_off = t.at, id = take(&t, 4);
	if (t.failed)
		return -1;
	ret->is_cie = is_cie(section, id);
	if (ret->is_cie) {
		if (!cie_read(&t, &cie))
			return -1;
		ret->program = cie.program;
		ret->encoding = cie.encoding;
		return 1;
	}
	uint64_t cie_off = section->debug_frame ? id : id_off - id;
	if (entry_begin(section, cie_off, &of_cie) != 1 || !is_cie(section, take(&of_cie, 4)) ||
	    !cie_read(&of_cie, &cie))
		return -1;
	ret->cie_program = cie.program;
	ret->encoding = cie.encoding;
	ret->version = cie.version;
	ret->signal = cie.signal;
	ret->columns = cie.columns;
	ret->start_svma = take_pointer(&t, cie.encoding);
	ret->end_svma = ret->start_svma + take_pointer(&t, cie.encoding & 0x0f);
	if (section->is_32bit && ret->end_svma > UINT32_MAX)
		ret->end_svma = UINT64_C(1) << 32;
	uint64_t data_bytes = cie.has_data ? take_leb(&t) : 0, data_off = t.at;
	skip(&t, data_bytes);
	if (t.failed || !sw_bytes_sub(t.bytes, t.at, t.bytes.size - t.at, &ret->program))
		return -1;
	ret->has_lsda = cie.has_lsda && !is_zero(t.bytes, data_off, t.at);
	return 1;
}

/* Operands of instructions: r register, u number, b block, digits bytes, p pointer. */
static const char *operands(uint8_t opcode)
{
	switch (opcode) {
	case DW_CFA_nop:
	case DW_CFA_remember_state:
	case DW_CFA_restore_state:
	case DW_CFA_GNU_window_save: return "";
	case DW_CFA_set_loc: return "p";
	case DW_CFA_advance_loc1: return "1";
	case DW_CFA_advance_loc2: return "2";
	case DW_CFA_advance_loc4: return "4";
	case DW_CFA_MIPS_advance_loc8: return "8";
	case DW_CFA_restore_extended:
	case DW_CFA_undefined:
	case DW_CFA_same_value:
	case DW_CFA_def_cfa_register: return "r";
	case DW_CFA_register: return "rr";
	case DW_CFA_def_cfa_offset:
	case DW_CFA_def_cfa_offset_sf:
	case DW_CFA_GNU_args_size: return "u";
	case DW_CFA_offset_extended:
	case DW_CFA_offset_extended_sf:
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_sf:
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
	case DW_CFA_GNU_negative_offset_extended: return "ru";
	case DW_CFA_def_cfa_expression: return "b";
	case DW_CFA_expression:
	case DW_CFA_val_expression: return "rb";
	default: return NULL;
	}
}

/* Libdw stops at what it does not know, and so do we. *address is set when one is in it. */
static bool program_sane(struct sw_bytes program, const struct sw_cfi_entry *entry, bool *address)
{
	/* The bases only have to be there: what the pointers are does not matter. */
	struct taker t = {.bytes = program,
			  .text_svma = 1,
			  .data_svma = 1,
			  .is_32bit = entry->is_32bit};
	size_t remembered = 0, depth = 0; /* libdw frees a state when it is restored */
	while (t.at < program.size && !t.failed) {
		uint8_t opcode = (uint8_t) take(&t, 1);
		if ((opcode & 0xc0) == DW_CFA_offset)
			(void) take_leb(&t);
		if (opcode & 0xc0)
			continue; /* the register is in 6 bits */
		if (opcode == DW_CFA_remember_state &&
		    (++remembered > SW_CFI_REMEMBERED_MAX || ++depth > SW_CFI_REMEMBER_MAX))
			return false;
		if (opcode == DW_CFA_restore_state && depth > 0)
			depth--;
		const char *operand = operands(opcode);
		if (operand == NULL)
			return true;
		for (; *operand != '\0'; operand++) {
			if (*operand == 'r' && take_leb(&t) > SW_CFI_REG_MAX)
				return false;
			if (*operand == 'u')
				(void) take_leb(&t);
			if (*operand == 'b')
				skip(&t, take_leb(&t));
			if (*operand == 'p') {
				*address = true;
				(void) take_pointer(&t, entry->encoding);
			}
			if (*operand >= '1' && *operand <= '8')
				skip(&t, (uint64_t) (*operand - '0'));
		}
	}
	return !t.failed;
}

bool sw_cfi_entry_sane(const struct sw_cfi_entry *entry)
{
	bool address;
	return program_sane(entry->program, entry, &address) &&
	       program_sane(entry->cie_program, entry, &address);
}

bool sw_cfi_entry_has_place(const struct sw_cfi_entry *entry)
{
	bool address = false;
	uint8_t encoding = entry->encoding;
	if (encoding == DW_EH_PE_absptr || encoding == DW_EH_PE_udata8 ||
	    encoding == DW_EH_PE_sdata8)
		return false;
	(void) program_sane(entry->program, entry, &address);     /* only for address */
	(void) program_sane(entry->cie_program, entry, &address); /* only for address */
	return address;
}

bool sw_cfi_section_sane(const struct sw_cfi_section *section, uint64_t offset)
{
	struct sw_cfi_entry entry;
	for (;;) { /* entries have a length: bounded by the section's size */
		int r = sw_cfi_entry_read(section, offset, &entry);
		if (r == 0)
			return true;
		if (r < 0 || !sw_cfi_entry_sane(&entry))
			return false;
		offset = entry.next_off;
	}
}

enum sw_cfi_hdr sw_cfi_hdr_read(struct sw_bytes hdr, uint64_t hdr_svma,
				struct sw_cfi_table *ret_table, uint64_t *ret_frame_svma)
{
	enum { VERSION = 1, ENCODING = DW_EH_PE_datarel | DW_EH_PE_sdata4 };
	struct taker t = {.bytes = hdr, .svma = hdr_svma};
	uint64_t version = take(&t, 1), pointer = take(&t, 1), count = take(&t, 1);
	uint64_t table = take(&t, 1);
	*ret_frame_svma = take_pointer(&t, (uint8_t) pointer);
	if (t.failed || version != VERSION)
		return SW_CFI_HDR_BAD;
	if (count == DW_EH_PE_omit || table == DW_EH_PE_omit)
		return SW_CFI_HDR_NO_TABLE;
	if (count != DW_EH_PE_udata4 || table != ENCODING)
		return SW_CFI_HDR_BAD;
	uint64_t pairs = take(&t, 4);
	ret_table->base_svma = hdr_svma;
	return !t.failed && sw_bytes_sub(hdr, t.at, pairs * PAIR_BYTES, &ret_table->pairs)
		       ? SW_CFI_HDR_TABLE
		       : SW_CFI_HDR_BAD;
}

size_t sw_cfi_table_count(const struct sw_cfi_table *table)
{
	return table->pairs.size / PAIR_BYTES;
}

static int32_t pair_word(const struct sw_cfi_table *table, size_t offset)
{
	uint32_t value = 0;
	(void) sw_bytes_u32(table->pairs, offset, &value); /* inside: see the callers */
	return (int32_t) value;
}

bool sw_cfi_table_sorted(const struct sw_cfi_table *table)
{
	if (table->pairs.size == 0)
		return true;
	if (table->base_svma > INT64_MAX || (int64_t) table->base_svma + pair_word(table, 0) < 0)
		return false; /* addresses wrap around */
	for (size_t at = PAIR_BYTES; at < table->pairs.size; at += PAIR_BYTES)
		if (pair_word(table, at) < pair_word(table, at - PAIR_BYTES))
			return false;
	return true;
}

bool sw_cfi_table_find(const struct sw_cfi_table *table, uint64_t svma, uint64_t *ret_fde_svma)
{
	int64_t wanted = (int64_t) (svma - table->base_svma);
	size_t low = 0, high = table->pairs.size / PAIR_BYTES;
	while (low < high) { /* the first pair behind svma */
		size_t middle = low + (high - low) / 2;
		if (pair_word(table, middle * PAIR_BYTES) <= wanted)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return false;
	*ret_fde_svma = table->base_svma +
			(uint64_t) (int64_t) pair_word(table, (low - 1) * PAIR_BYTES + 4);
	return true;
}
