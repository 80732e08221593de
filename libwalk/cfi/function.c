/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cfi/function.h"
#include "formats/elf_symbol.h"

bool sw_elf_entry_find(struct sw_elf_cfi *cfi, uint64_t svma, struct sw_elf_entry *ret)
{
	struct sw_cfi_entry entry;
	uint64_t entry_svma;
	if (sw_elf_cfi_entry(cfi, svma, &entry, &entry_svma) != SW_ELF_ROW_FOUND)
		return false;
	*ret = (struct sw_elf_entry){.start_svma = entry.start_svma,
				     .end_svma = entry.end_svma,
				     .entry_svma = entry_svma};
	return true;
}

/* The nearest code symbol at or below svma that reaches it. */
static bool symbol_nearest(const struct sw_elf_table *table, bool all, uint64_t svma,
			   uint64_t *best)
{
	bool found = false;
	Elf64_Sym sym;
	for (size_t i = 0; i < SW_ELF_SYMBOLS_MAX && sw_elf_symbol_read(table, i, &sym); i++) {
		unsigned type = ELF64_ST_TYPE(sym.st_info);
		if (sym.st_shndx == SHN_UNDEF || sym.st_shndx == SHN_ABS || sym.st_value > svma ||
		    (type != STT_FUNC && type != STT_NOTYPE && type != STT_GNU_IFUNC))
			continue;
		/* Assembly often gives no size. That it reaches as far as the next symbol is only
		 * known where all symbols are. */
		bool reaches = sym.st_size != 0 ? svma - sym.st_value < sym.st_size : all;
		if (reaches && (!found || sym.st_value > *best)) {
			found = true;
			*best = sym.st_value;
		}
	}
	return found;
}

static bool symbol_start(struct sw_elf_cfi *cfi, uint64_t svma, uint64_t *ret)
{
	const struct sw_elf *elf = sw_elf_cfi_elf(cfi);
	struct sw_elf_section s;
	struct sw_elf_table table = {.is_32bit = elf->is_32bit};
	for (uint32_t i = 1; sw_elf_section(elf, i, &s); i++)
		if ((s.type == SHT_SYMTAB || s.type == SHT_DYNSYM) &&
		    sw_elf_section_bytes(elf, &s, &table.symbols) &&
		    symbol_nearest(&table, s.type == SHT_SYMTAB, svma, ret))
			return true;
	return false;
}

bool sw_elf_function_start(struct sw_elf_cfi *cfi, uint64_t svma, uint64_t *ret_svma)
{
	struct sw_elf_entry entry;
	if (sw_elf_entry_find(cfi, svma, &entry)) {
		*ret_svma = entry.start_svma;
		return true;
	}
	/* A pass over all symbols takes milliseconds where there are many: once for an address. */
	struct sw_map64 *starts = sw_elf_cfi_starts(cfi);
	uint64_t kept;
	if (!sw_map64_get(starts, svma, &kept)) {
		uint64_t start = 0;
		kept = symbol_start(cfi, svma, &start) ? start + 1 : 0;
		if (starts->count >= SW_ELF_RULES_MAX)
			sw_map64_deinit(starts);
		(void) sw_map64_put(starts, svma, kept); /* lost: it is looked for again */
	}
	if (kept == 0)
		return false;
	*ret_svma = kept - 1;
	return true;
}
