/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "native/tls_symbol.h"

#include <string.h>

enum { RELOCATIONS_MAX = 1 << 20 };

/* Strings are compared where they lie: the end of a long one would be looked for by each relocation. */
static bool symbol_named(const struct sw_elf_table *table, uint64_t index, const char *name,
			 Elf64_Sym *ret)
{
	const size_t bytes = strlen(name) + 1;
	return index < table->symbols.size / sizeof(*ret) &&
	       sw_bytes_copy(table->symbols, index * sizeof(*ret), ret, sizeof(*ret)) &&
	       ELF64_ST_TYPE(ret->st_info) == STT_TLS &&
	       sw_bytes_has(table->strings, ret->st_name, bytes) &&
	       memcmp(table->strings.data + ret->st_name, name, bytes) == 0;
}

static bool relocations_of(const struct sw_elf_symbols *symbols, const char *name,
			   struct sw_bytes *ret)
{
	struct sw_elf_section section;
	return sw_elf_section_named(symbols->elf, name, &section) &&
	       sw_elf_section_bytes(symbols->elf, &section, ret);
}

static bool relocations(const struct sw_elf_symbols *symbols, struct sw_bytes *ret)
{
	return relocations_of(symbols, ".rela.dyn", ret);
}

static bool kind_of(uint64_t relocation, enum sw_tls_kind *ret)
{
	switch (relocation) {
	case R_X86_64_DTPMOD64: *ret = SW_TLS_PAIR; return true;
	case R_X86_64_TPOFF64: *ret = SW_TLS_WORD; return true;
	case R_X86_64_TLSDESC: *ret = SW_TLS_DESCRIPTOR; return true;
	default: return false;
	}
}

/* The entry of the GOT for a library's variable, by the relocation that fills it. Any of several will do. */
static bool got_find(const struct sw_elf_symbols *symbols, const char *section, const char *name,
		     struct sw_tls_variable *ret)
{
	struct sw_bytes bytes;
	if (!relocations_of(symbols, section, &bytes))
		return false;
	for (uint64_t i = 0; i < RELOCATIONS_MAX; i++) {
		Elf64_Rela rela;
		Elf64_Sym symbol;
		enum sw_tls_kind kind;
		if (!sw_bytes_copy(bytes, i * sizeof(rela), &rela, sizeof(rela)))
			return false;
		if (kind_of(ELF64_R_TYPE(rela.r_info), &kind) &&
		    symbol_named(&symbols->dynsym, ELF64_R_SYM(rela.r_info), name, &symbol)) {
			*ret = (struct sw_tls_variable){.kind = kind, .got_svma = rela.r_offset};
			return true;
		}
	}
	return false;
}

bool sw_tls_of_program(const struct sw_elf *elf, uint64_t svma, struct sw_tls_variable *ret)
{
	struct sw_elf_segment tls, interp;
	if (!sw_elf_segment_typed(elf, PT_TLS, &tls) || svma >= tls.memory_bytes ||
	    !sw_elf_segment_typed(elf, PT_INTERP, &interp))
		return false;
	uint64_t align = tls.align == 0 ? 1 : tls.align, end;
	if ((align & (align - 1)) != 0 || align > (1 << 20) || tls.memory_bytes > (1 << 30))
		return false;
	end = (tls.memory_bytes + align - 1) & -align; /* it ends at fs */
	*ret = (struct sw_tls_variable){.kind = SW_TLS_PROGRAM,
					.offset = (int64_t) svma - (int64_t) end};
	return true;
}

bool sw_tls_find(const struct sw_elf_symbols *symbols, const char *name,
		 struct sw_tls_variable *ret)
{
	struct sw_elf_symbol symbol;
	struct sw_elf_segment tls, interp;
	*ret = (struct sw_tls_variable){0};
	if (!sw_elf_symbols_find(symbols, name, &symbol) ||
	    !sw_elf_segment_typed(symbols->elf, PT_TLS, &tls) || symbol.svma >= tls.memory_bytes)
		return false;
	return sw_elf_segment_typed(symbols->elf, PT_INTERP, &interp)
		       ? sw_tls_of_program(symbols->elf, symbol.svma, ret)
		       : got_find(symbols, ".rela.dyn", name, ret) ||
				 /* GNU ld puts descriptors there. */
				 got_find(symbols, ".rela.plt", name, ret);
}

bool sw_tls_of_pair(const struct sw_elf_symbols *symbols, uint64_t got_svma, int64_t offset,
		    struct sw_tls_variable *ret)
{
	struct sw_bytes bytes;
	Elf64_Rela rela;
	struct sw_elf_segment tls;
	if (!relocations(symbols, &bytes) || !sw_elf_segment_typed(symbols->elf, PT_TLS, &tls) ||
	    offset < 0 || (uint64_t) offset >= tls.memory_bytes)
		return false;
	for (uint64_t i = 0; i < RELOCATIONS_MAX; i++) {
		if (!sw_bytes_copy(bytes, i * sizeof(rela), &rela, sizeof(rela)))
			return false;
		if (rela.r_offset == got_svma && ELF64_R_TYPE(rela.r_info) == R_X86_64_DTPMOD64 &&
		    ELF64_R_SYM(rela.r_info) == 0) {
			*ret = (struct sw_tls_variable){.offset = offset, .got_svma = got_svma};
			return true;
		}
	}
	return false;
}
