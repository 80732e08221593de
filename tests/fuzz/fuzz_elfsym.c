/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The symbolizer over an ELF file: symbol tables, .gnu_debugdata, DWARF lines and inlined calls,
 * demangling. The addresses asked for are those of the file's own symbols. And the walk's own look
 * at exported symbols, for the first name that the file has.
 */
#include "fuzz.h"
#include "cleanup.h"
#include "elf_file.h"
#include "formats/elf_symbol.h"
#include "symbolize_file.h"

#include <assert.h>

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sw_frame frames[SYMBOLIZE_FILE_FRAMES_MAX] = {0};
	struct sw_bytes image = {data, size};
	exported_find(image);
	symbolize_file(SW_MODULE_ELF, image, frames, symbolize_file_addresses(image, frames));
	return 0;
}
