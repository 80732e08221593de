/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Entries of a PLT, and what the linker writes into their words: System V AMD64 psABI 1.0, section 5.2 and table 4.10.
 */
#include "events/stubs.h"

#include <string.h>

enum {
	RELOCATIONS_MAX = 1 << 22,
	SYMBOLS_MAX = 1 << 20,
	SLOT_INSN_BYTES = 6, /* ff 25 with a displacement from the end */
};

static bool symbol_named(const struct sw_elf_table *symbols, uint64_t index, const char *name,
			 Elf64_Sym *ret)
{
	const char *text;
	return sw_elf_symbol_read(symbols, index, ret) &&
	       sw_bytes_str(symbols->strings, ret->st_name, &text) && strcmp(text, name) == 0;
}

/* Whether a function whose code is chosen has that name and that address. */
static bool chosen_is(const struct sw_elf_table *symbols, uint64_t svma, const char *name)
{
	Elf64_Sym symbol;
	for (uint64_t i = 1; i < SYMBOLS_MAX && sw_elf_symbol_read(symbols, i, &symbol); i++)
		if (symbol.st_value == svma && ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC &&
		    symbol_named(symbols, i, name, &symbol))
			return true;
	return false;
}

static bool relocation_is(const struct sw_elf *elf, const Elf64_Rela *rela, const char *name)
{
	struct sw_elf_table symbols;
	Elf64_Sym symbol;
	switch (ELF64_R_TYPE(rela->r_info)) {
	case R_X86_64_IRELATIVE: /* of a table with or without hidden symbols */
		return (sw_elf_table_typed(elf, SHT_DYNSYM, &symbols) &&
			chosen_is(&symbols, (uint64_t) rela->r_addend, name)) ||
		       (sw_elf_table_typed(elf, SHT_SYMTAB, &symbols) &&
			chosen_is(&symbols, (uint64_t) rela->r_addend, name));
	case R_X86_64_JUMP_SLOT:
	case R_X86_64_GLOB_DAT:
		return sw_elf_table_typed(elf, SHT_DYNSYM, &symbols) &&
		       symbol_named(&symbols, ELF64_R_SYM(rela->r_info), name, &symbol);
	default: return false;
	}
}

bool sw_stub_relocation(const struct sw_elf *elf, uint64_t word_svma, Elf64_Rela *ret)
{
	struct sw_elf_section section;
	struct sw_bytes bytes;
	for (uint32_t i = 0; i < elf->n_sections; i++) {
		if (!sw_elf_section(elf, i, &section) || section.type != SHT_RELA ||
		    !sw_elf_section_bytes(elf, &section, &bytes))
			continue;
		for (uint64_t k = 0; k < RELOCATIONS_MAX &&
				     sw_bytes_copy(bytes, k * sizeof(*ret), ret, sizeof(*ret));
		     k++)
			if (ret->r_offset == word_svma)
				return true;
	}
	return false;
}

bool sw_stub_word(const struct sw_elf *elf, uint64_t svma, uint64_t *ret_svma)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	struct sw_bytes code;
	int32_t displacement;
	if (!sw_elf_loaded(elf, svma, &code))
		return false;
	size_t at = code.size >= sizeof(endbr64) && memcmp(code.data, endbr64, sizeof(endbr64)) == 0
			    ? sizeof(endbr64)
			    : 0;
	if (at < code.size && code.data[at] == 0xf2)
		at++;
	if (code.size - at < SLOT_INSN_BYTES || code.data[at] != 0xff || code.data[at + 1] != 0x25)
		return false;
	memcpy(&displacement, code.data + at + 2, sizeof(displacement));
	*ret_svma = svma + at + SLOT_INSN_BYTES + (uint64_t) (int64_t) displacement;
	return true;
}

bool sw_stub_leads_to(const struct sw_elf *elf, uint64_t svma, const char *name)
{
	uint64_t slot;
	Elf64_Rela rela;
	return sw_stub_word(elf, svma, &slot) && sw_stub_relocation(elf, slot, &rela) &&
	       relocation_is(elf, &rela, name);
}

bool sw_stub_target(const struct sw_elf *elf, uint64_t svma, uint64_t *ret_svma)
{
	struct sw_elf_table symbols;
	Elf64_Sym symbol;
	uint64_t slot;
	Elf64_Rela rela;
	if (!sw_stub_word(elf, svma, &slot) || !sw_stub_relocation(elf, slot, &rela))
		return false;
	uint32_t type = ELF64_R_TYPE(rela.r_info);
	if (type == R_X86_64_RELATIVE) {
		*ret_svma = (uint64_t) rela.r_addend;
		return true;
	}
	if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) ||
	    !sw_elf_table_typed(elf, SHT_DYNSYM, &symbols) ||
	    !sw_elf_symbol_read(&symbols, ELF64_R_SYM(rela.r_info), &symbol) ||
	    symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC)
		return false;
	*ret_svma = symbol.st_value;
	return true;
}
