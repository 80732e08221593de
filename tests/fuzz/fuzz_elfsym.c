/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The symbolizer over an ELF file: symbol tables, .gnu_debugdata, DWARF lines and inlined calls,
 * demangling. The addresses asked for are those of the file's own symbols. And the walk's own look
 * at exported symbols, for the first name that the file has.
 */
#include "cleanup.h"
#include "elf_file.h"
#include "elf_symbol.h"
#include "module.h"

#include <snapwalk/symbolize.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { FRAMES_MAX = 64, BIAS = 0x10000 };

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

static void results_read(const struct sw_symbols *symbols, const struct sw_frame *frame)
{
	const struct sw_symbol *found;
	size_t n = sw_symbols_find(symbols, frame, &found), bytes = 0;
	for (size_t i = 0; i < n; i++) {
		bytes += found[i].function != NULL ? strlen(found[i].function) : 0;
		bytes += found[i].file != NULL ? strlen(found[i].file) : 0;
		assert(found[i].inlined == (i + 1 < n));
		assert(found[i].line_offset >= -1);
	}
	assert(bytes < SIZE_MAX);
}

static void exported_find(struct sw_bytes image)
{
	struct sw_elf_symbols symbols;
	struct sw_elf_symbol symbol;
	struct sw_bytes bytes;
	const char *name;
	if (sw_elf_symbols_open(image, &symbols) && sw_bytes_str(symbols.dynstr, 1, &name) &&
	    sw_elf_symbols_find(&symbols, name, &symbol) &&
	    sw_elf_symbols_bytes(&symbols, symbol.svma, &bytes))
		assert(bytes.size > 0 && bytes.size <= image.size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sw_frame frames[FRAMES_MAX] = {0};
	struct sw_walk walk = {.frames = frames};
	struct sw_walks walks = {.walks = &walk, .n_walks = 1};
	struct sw_symbolize_options o = {.debug_dir = "/nonexistent"};
	struct sw_context *ctx = NULL;
	struct sw_module *module = NULL;
	struct sw_symbolizer *symbolizer = NULL;
	struct sw_symbols *symbols = NULL;
	struct stat st;
	int fd = memfd_create("elf", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t) size || fstat(fd, &st) < 0)
		abort();
	if (sw_context_create(&ctx, NULL) < 0 ||
	    sw_context_module_file(ctx, SW_MODULE_ELF, "/nonexistent/x", false, fd, &st, &module) <
		    0 ||
	    sw_symbolizer_create(ctx, &symbolizer, NULL) < 0)
		abort();
	struct sw_place place = {.module = module,
				 .end_avma = UINT64_MAX,
				 .bias = BIAS,
				 .resolved = 1};
	exported_find((struct sw_bytes){data, size});
	walk.n_frames = addresses_pick((struct sw_bytes){data, size}, frames);
	for (size_t i = 0; i < walk.n_frames; i++) {
		frames[i].place = &place;
		frames[i].flags = SW_FRAME_EXACT_PC;
	}
	if (sw_symbolize(symbolizer, &walks, &o, &symbols, NULL) == 0)
		for (size_t i = 0; i < walk.n_frames; i++)
			results_read(symbols, &frames[i]);
	sw_symbols_destroy(symbols);
	sw_symbolizer_destroy(symbolizer);
	sw_context_destroy(ctx);
	return 0;
}
