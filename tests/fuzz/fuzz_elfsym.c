/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The symbolizer over an ELF file: symbol tables, .gnu_debugdata, DWARF lines and inlined calls,
 * demangling. The addresses asked for are those of the file's own symbols. And the walk's own look
 * at exported symbols, for the first name that the file has.
 */
#include "cleanup.h"
#include "elf_file.h"
#include "formats/elf_symbol.h"
#include "symbolize_file.h"

#include <assert.h>

enum { FRAMES_MAX = 64, BIAS = SYMBOLIZE_FILE_BIAS };

/* A few addresses in each function symbol, and some at the edges. */
static size_t addresses_pick(struct sw_bytes image, struct sw_frame *frames)
{
	/* The last ones are in the code of corpus files without a symbol table. */
	static const uint64_t edges[] = {
		0, 1, UINT64_MAX, INT64_MAX, BIAS + 0x1d5, BIAS + 0x215, BIAS + 0x245};
	static const uint64_t inside[] = {0, 5, 12, 33};
	struct sw_elf elf;
	struct sw_elf_section section;
	struct sw_bytes symbols;
	size_t n = 0;
	for (size_t i = 0; i < SW_ARRAY_SIZE(edges); i++)
		frames[n++].pc_avma = edges[i];
	if (!sw_elf_init(&elf, image) ||
	    (!sw_elf_section_typed(&elf, SHT_SYMTAB, &section) &&
	     !sw_elf_section_typed(&elf, SHT_DYNSYM, &section)) ||
	    !sw_elf_section_bytes(&elf, &section, &symbols))
		return n;
	for (size_t at = 0; n + SW_ARRAY_SIZE(inside) <= FRAMES_MAX; at += sizeof(Elf64_Sym)) {
		uint8_t info;
		uint64_t start;
		if (!sw_bytes_u8(symbols, at + offsetof(Elf64_Sym, st_info), &info) ||
		    !sw_bytes_u64(symbols, at + offsetof(Elf64_Sym, st_value), &start))
			break;
		for (size_t i = 0; ELF64_ST_TYPE(info) == STT_FUNC && i < SW_ARRAY_SIZE(inside);
		     i++)
			frames[n++].pc_avma = start + inside[i] + BIAS;
	}
	return n;
}

static void exported_find(struct sw_bytes image)
{
	struct sw_elf elf;
	struct sw_elf_symbols symbols;
	struct sw_elf_symbol symbol;
	struct sw_bytes bytes;
	const char *name;
	if (sw_elf_init(&elf, image) && sw_elf_symbols_open(&elf, &symbols) &&
	    sw_bytes_str(symbols.dynsym.strings, 1, &name) &&
	    sw_elf_symbols_find(&symbols, name, &symbol) &&
	    sw_elf_loaded(&elf, symbol.svma, &bytes))
		assert(bytes.size > 0 && bytes.size <= image.size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sw_frame frames[FRAMES_MAX] = {0};
	struct sw_bytes image = {data, size};
	exported_find(image);
	symbolize_file(SW_MODULE_ELF, image, frames, addresses_pick(image, frames));
	return 0;
}
