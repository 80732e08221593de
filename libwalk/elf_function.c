/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Source: LSB 5.0 core, §10.6.1 (.eh_frame) and §10.6.2 (.eh_frame_hdr); DWARF 5, §7.6 (LEB128). */
#include "elf_function.h"
#include "debug_frame.h"

#include <dwarf.h>
#include <gelf.h>

enum { LEB_BYTES_MAX = 10, AUGMENTATION_MAX = 16 };

enum {
	HDR_VERSION = 1,
	HDR_TABLE = DW_EH_PE_datarel | DW_EH_PE_sdata4,
	HDR_ENTRY_BYTES = 8,
};

/* A place in bytes that moves on as they are taken; failed stays set. */
struct taker {
	struct sw_bytes bytes;
	uint64_t svma; /* of bytes.data[0] */
	uint64_t at;
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

/* The value of a LEB128 number as far as it is unsigned: all that is needed here. */
static uint64_t take_uleb(struct taker *t)
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

/* A pointer in one of the encodings that code addresses have on x86-64. */
static uint64_t take_pointer(struct taker *t, uint8_t encoding)
{
	uint64_t here = t->svma + t->at, value;
	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8: value = take(t, 8); break;
	case DW_EH_PE_udata4: value = take(t, 4); break;
	case DW_EH_PE_sdata4: value = (uint64_t) (int64_t) (int32_t) take(t, 4); break;
	default: t->failed = true; return 0;
	}
	switch (encoding & 0xf0) {
	case DW_EH_PE_absptr: return value;
	case DW_EH_PE_pcrel: return value + here;
	default: t->failed = true; return 0;
	}
}

static bool taker_at(const struct sw_elf_cfi *cfi, uint64_t svma, struct taker *ret)
{
	*ret = (struct taker){.svma = svma};
	return sw_elf_cfi_bytes(cfi, svma, &ret->bytes);
}

/* How the CIE says that its FDEs give code addresses. */
static bool cie_encoding(const struct sw_elf_cfi *cfi, uint64_t cie_svma, uint8_t *ret)
{
	struct taker t;
	if (!taker_at(cfi, cie_svma, &t))
		return false;
	uint64_t length = take(&t, 4), id = take(&t, 4), version = take(&t, 1);
	if (t.failed || length == 0xffffffff || id != 0 || version == 0)
		return false;
	char letters[AUGMENTATION_MAX];
	size_t n = 0;
	while (n < sizeof(letters) && (letters[n] = (char) take(&t, 1)) != '\0')
		n++;
	if (t.failed || n == sizeof(letters))
		return false;
	(void) take_uleb(&t); /* code alignment */
	(void) take_uleb(&t); /* data alignment: signed, its value is not needed */
	(void) (version == 1 ? take(&t, 1) : take_uleb(&t)); /* return address column */
	*ret = DW_EH_PE_absptr;
	for (size_t i = 0; i < n && !t.failed; i++) {
		if (letters[i] == 'z')
			(void) take_uleb(&t); /* length of what follows */
		else if (letters[i] == 'R')
			*ret = (uint8_t) take(&t, 1);
		else if (letters[i] == 'L')
			(void) take(&t, 1);
		else if (letters[i] == 'P')
			(void) take_pointer(&t, take(&t, 1) & 0x7f); /* not DW_EH_PE_indirect */
		else if (letters[i] != 'S' && letters[i] != 'B')
			return false;
	}
	return !t.failed;
}

static bool fde_read(const struct sw_elf_cfi *cfi, uint64_t fde_svma, struct sw_elf_entry *ret)
{
	struct taker t;
	if (!taker_at(cfi, fde_svma, &t))
		return false;
	uint64_t length = take(&t, 4);
	if (t.failed || length == 0 || length == 0xffffffff)
		return false; /* 64-bit entries: no tool writes them */
	uint64_t cie_svma = fde_svma + t.at;
	cie_svma -= take(&t, 4);
	uint8_t encoding;
	if (t.failed || !cie_encoding(cfi, cie_svma, &encoding))
		return false;
	ret->entry_svma = fde_svma;
	ret->start_svma = take_pointer(&t, encoding);
	ret->end_svma = ret->start_svma + take_pointer(&t, encoding & 0x0f);
	return !t.failed && ret->end_svma > ret->start_svma;
}

/* The search table: pairs of code and entry address, 4 bytes each, relative to the header. */
static bool table_of(const struct sw_elf_cfi *cfi, struct sw_bytes *ret, uint64_t *ret_base)
{
	struct taker t = {0};
	if (!sw_elf_cfi_hdr(cfi, &t.svma, &t.bytes))
		return false;
	uint64_t version = take(&t, 1), pointer = take(&t, 1), count = take(&t, 1);
	uint64_t table = take(&t, 1);
	if (t.failed || version != HDR_VERSION || count != DW_EH_PE_udata4 || table != HDR_TABLE)
		return false;
	(void) take_pointer(&t, (uint8_t) pointer);
	uint64_t entries = take(&t, 4);
	*ret_base = t.svma;
	return !t.failed && sw_bytes_sub(t.bytes, t.at, entries * HDR_ENTRY_BYTES, ret);
}

static uint64_t table_svma(struct sw_bytes table, uint64_t base, size_t offset)
{
	uint32_t value = 0;
	(void) sw_bytes_u32(table, offset, &value); /* inside: see the callers */
	return base + (uint64_t) (int64_t) (int32_t) value;
}

bool sw_elf_entry_find(struct sw_elf_cfi *cfi, uint64_t svma, struct sw_elf_entry *ret)
{
	struct sw_bytes table;
	uint64_t base;
	if (!table_of(cfi, &table, &base))
		return false;
	size_t low = 0, high = table.size / HDR_ENTRY_BYTES;
	while (low < high) { /* first entry that begins behind svma */
		size_t middle = low + (high - low) / 2;
		if (table_svma(table, base, middle * HDR_ENTRY_BYTES) <= svma)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return false;
	struct sw_elf_entry entry;
	uint64_t fde_svma = table_svma(table, base, (low - 1) * HDR_ENTRY_BYTES + 4);
	if (!fde_read(cfi, fde_svma, &entry) || svma < entry.start_svma || svma >= entry.end_svma)
		return false;
	*ret = entry;
	return true;
}

/* The nearest code symbol at or below svma that reaches it. */
static bool symbol_nearest(Elf_Scn *scn, const GElf_Shdr *shdr, uint64_t svma, uint64_t *best)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	if (data == NULL || shdr->sh_entsize == 0)
		return false;
	bool found = false;
	size_t n = data->d_size / (size_t) shdr->sh_entsize;
	for (size_t i = 0; i < n && i < SW_ELF_SYMBOLS_MAX; i++) {
		GElf_Sym sym;
		if (gelf_getsym(data, (int) i, &sym) == NULL)
			break;
		unsigned type = GELF_ST_TYPE(sym.st_info);
		if (sym.st_shndx == SHN_UNDEF || sym.st_shndx == SHN_ABS || sym.st_value > svma ||
		    (type != STT_FUNC && type != STT_NOTYPE && type != STT_GNU_IFUNC))
			continue;
		/* Assembly often gives no size. That it reaches as far as the next symbol is only
		 * known where all symbols are. */
		bool reaches = sym.st_size != 0 ? svma - sym.st_value < sym.st_size
						: shdr->sh_type == SHT_SYMTAB;
		if (reaches && (!found || sym.st_value > *best)) {
			found = true;
			*best = sym.st_value;
		}
	}
	return found;
}

static bool symbol_start(struct sw_elf_cfi *cfi, uint64_t svma, uint64_t *ret)
{
	Elf *elf = sw_elf_cfi_elf(cfi);
	Elf_Scn *scn = NULL;
	for (size_t i = 0; i < SW_ELF_SECTIONS_MAX; i++) {
		GElf_Shdr shdr;
		scn = elf_nextscn(elf, scn);
		if (scn == NULL)
			return false;
		if (gelf_getshdr(scn, &shdr) == NULL ||
		    (shdr.sh_type != SHT_SYMTAB && shdr.sh_type != SHT_DYNSYM))
			continue;
		if (symbol_nearest(scn, &shdr, svma, ret))
			return true;
	}
	return false;
}

bool sw_elf_function_start(struct sw_elf_cfi *cfi, uint64_t svma, uint64_t *ret_svma)
{
	struct sw_elf_entry entry;
	if (sw_elf_entry_find(cfi, svma, &entry)) {
		*ret_svma = entry.start_svma;
		return true;
	}
	return symbol_start(cfi, svma, ret_svma);
}
