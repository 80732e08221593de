/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "compare/index.h"
#include "bytes.h"
#include "arena.h"

#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

enum {
	ENTRIES_FIRST = 256,
	/* DW_EH_PE_* of LSB 5.0, core, §10.5.1: format in the low bits, application above. */
	PE_ABSPTR = 0x00,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_FORMAT = 0x0f,
	PE_PCREL = 0x10,
	PE_OMIT = 0xff,
};

/* .eh_frame while it is read. */
struct section {
	const unsigned char *ident;
	Elf_Data data;
	uint64_t svma;
	uint64_t cie_off; /* the CIE whose encoding is known; UINT64_MAX: none */
	uint8_t encoding; /* of its FDEs' addresses; PE_OMIT when it cannot be told */
};

static bool section_find(const struct sw_elf *elf, struct section *ret)
{
	struct sw_elf_section s;
	struct sw_bytes bytes;
	if (!sw_elf_section_named(elf, ".eh_frame", &s) || !(s.flags & SHF_ALLOC) ||
	    !sw_elf_section_bytes(elf, &s, &bytes))
		return false;
	*ret = (struct section){.ident = elf->header.e_ident,
				.data = {.d_buf = (void *) (uintptr_t) bytes.data, /* only read */
					 .d_type = ELF_T_BYTE,
					 .d_size = bytes.size,
					 .d_version = EV_CURRENT},
				.svma = s.svma,
				.cie_off = UINT64_MAX};
	return true;
}

/* Bytes of a pointer in this encoding; 0 when it has no fixed size. */
static unsigned pointer_bytes(uint8_t encoding)
{
	switch (encoding & PE_FORMAT) {
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8: return 8;
	case PE_UDATA4:
	case PE_SDATA4: return 4;
	}
	return 0;
}

/* How the FDEs of a CIE encode addresses: LSB 5.0, core, §10.6.1.1.1 (augmentation 'R'). */
static uint8_t encoding_of(const Dwarf_CIE *cie)
{
	struct sw_bytes data = {cie->augmentation_data, cie->augmentation_data_size};
	const char *a = cie->augmentation; /* libdw has seen its end */
	uint64_t offset = 0;
	uint8_t byte;
	if (a[0] == '\0')
		return PE_ABSPTR;
	if (*a++ != 'z')
		return PE_OMIT;
	for (; *a != '\0'; a++) {
		if (*a == 'S') /* a signal frame: no data */
			continue;
		if (!sw_bytes_u8(data, offset++, &byte))
			return PE_OMIT;
		if (*a == 'R')
			return byte;
		if (*a == 'P' && pointer_bytes(byte) > 0)
			offset += pointer_bytes(byte);
		else if (*a != 'L')
			return PE_OMIT;
	}
	return PE_ABSPTR;
}

static uint8_t encoding_at(struct section *s, uint64_t cie_off)
{
	Dwarf_CFI_Entry cie;
	Dwarf_Off next;
	if (s->cie_off == cie_off)
		return s->encoding;
	s->cie_off = cie_off;
	s->encoding = PE_OMIT;
	if (cie_off < s->data.d_size &&
	    dwarf_next_cfi(s->ident, &s->data, true, cie_off, &next, &cie) == 0 &&
	    dwarf_cfi_cie_p(&cie))
		s->encoding = encoding_of(&cie.cie);
	return s->encoding;
}

/* Where the code of an FDE begins, from the section's address. */
static bool entry_make(struct section *s, uint64_t off, const Dwarf_FDE *fde,
		       struct sw_libunwind_entry *ret)
{
	uint8_t encoding = encoding_at(s, fde->CIE_pointer);
	struct sw_bytes bytes = {fde->start, (size_t) (fde->end - fde->start)};
	uint64_t pc = 0;
	if (encoding == PE_OMIT || (encoding & ~PE_FORMAT & ~PE_PCREL) != 0 ||
	    pointer_bytes(encoding) == 0 || !sw_bytes_copy(bytes, 0, &pc, pointer_bytes(encoding)))
		return false;
	if ((encoding & PE_FORMAT) == PE_SDATA4)
		pc = (uint64_t) (int64_t) (int32_t) pc;
	if (encoding & PE_PCREL)
		pc += (uint64_t) (fde->start - (const uint8_t *) s->data.d_buf);
	else
		pc -= s->svma;
	int64_t from_section = (int64_t) pc;
	if (from_section < INT32_MIN || from_section > INT32_MAX || off > INT32_MAX)
		return false;
	*ret = (struct sw_libunwind_entry){(int32_t) from_section, (int32_t) off};
	return true;
}

static bool append(struct sw_libunwind_index *index, size_t *capacity,
		   struct sw_libunwind_entry entry)
{
	struct sw_libunwind_entry *grown =
		sw_grow(index->entries, index->n_entries, capacity, ENTRIES_FIRST, sizeof(*grown));
	if (grown == NULL)
		return false;
	index->entries = grown;
	index->entries[index->n_entries++] = entry;
	return true;
}

static int compare_entries(const void *a, const void *b)
{
	const struct sw_libunwind_entry *x = a, *y = b;
	return (x->pc > y->pc) - (x->pc < y->pc);
}

bool sw_libunwind_index_init(struct sw_libunwind_index *index, struct sw_module *module)
{
	struct section s;
	size_t capacity = 0;
	*index = (struct sw_libunwind_index){0};
	const struct sw_elf *elf = sw_module_elf(module);
	if (elf == NULL || !section_find(elf, &s))
		return false;
	index->section_svma = s.svma;
	Dwarf_CFI_Entry entry;
	/* Goes on or ends with each turn. An entry that libdw does not understand ends it. */
	for (Dwarf_Off off = 0, next;
	     dwarf_next_cfi(s.ident, &s.data, true, off, &next, &entry) == 0 && next > off;
	     off = next) {
		struct sw_libunwind_entry found;
		if (dwarf_cfi_cie_p(&entry) || !entry_make(&s, off, &entry.fde, &found))
			continue;
		if (index->n_entries >= SW_LIBUNWIND_ENTRIES_MAX ||
		    !append(index, &capacity, found)) {
			sw_libunwind_index_deinit(index);
			return false;
		}
	}
	if (index->n_entries == 0) {
		sw_libunwind_index_deinit(index);
		return false;
	}
	qsort(index->entries, index->n_entries, sizeof(*index->entries), compare_entries);
	return true;
}

void sw_libunwind_index_deinit(struct sw_libunwind_index *index)
{
	free(index->entries);
	*index = (struct sw_libunwind_index){0};
}
