/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbolize_file.h"
#include "cleanup.h"
#include "elf_file.h"
#include "snapshot/module.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A few addresses in each function symbol, and some at the edges. */
size_t symbolize_file_addresses(struct sw_bytes image,
				struct sw_frame frames[static SYMBOLIZE_FILE_FRAMES_MAX])
{
	/* The last ones are in the code of corpus files without a symbol table. */
	static const uint64_t edges[] = {0,
					 1,
					 UINT64_MAX,
					 INT64_MAX,
					 SYMBOLIZE_FILE_BIAS + 0x1d5,
					 SYMBOLIZE_FILE_BIAS + 0x215,
					 SYMBOLIZE_FILE_BIAS + 0x245};
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
	for (size_t at = 0; n + SW_ARRAY_SIZE(inside) <= SYMBOLIZE_FILE_FRAMES_MAX;
	     at += sizeof(Elf64_Sym)) {
		uint8_t info;
		uint64_t start;
		if (!sw_bytes_u8(symbols, at + offsetof(Elf64_Sym, st_info), &info) ||
		    !sw_bytes_u64(symbols, at + offsetof(Elf64_Sym, st_value), &start))
			break;
		for (size_t i = 0; ELF64_ST_TYPE(info) == STT_FUNC && i < SW_ARRAY_SIZE(inside);
		     i++)
			frames[n++].pc_avma = start + inside[i] + SYMBOLIZE_FILE_BIAS;
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
		assert(frame->place->module->kind != SW_MODULE_PE ||
		       found[i].function_offset <= frame->pc_avma - SYMBOLIZE_FILE_BIAS);
	}
	assert(bytes < SIZE_MAX);
}

void symbolize_file(enum sw_module_kind kind, struct sw_bytes file, struct sw_frame *frames,
		    size_t n_frames)
{
	struct sw_walk walk = {.frames = frames, .n_frames = n_frames};
	struct sw_walks walks = {.walks = &walk, .n_walks = 1};
	struct sw_symbolize_options o = {.debug_dir = "/nonexistent"};
	struct sw_context *ctx = NULL;
	struct sw_module *module = NULL;
	struct sw_symbolizer *symbolizer = NULL;
	struct sw_symbols *symbols = NULL;
	struct stat st;
	int fd = memfd_create("file", MFD_CLOEXEC);
	if (fd < 0 || write(fd, file.data, file.size) != (ssize_t) file.size || fstat(fd, &st) < 0)
		abort();
	if (sw_context_create(&ctx, NULL) < 0 ||
	    sw_context_module_file(ctx, kind, "/nonexistent/x", false, fd, &st, &module) < 0 ||
	    sw_symbolizer_create(ctx, &symbolizer, NULL) < 0)
		abort();
	struct sw_place place = {.module = module,
				 .end_avma = UINT64_MAX,
				 .bias = SYMBOLIZE_FILE_BIAS,
				 .resolved = 1};
	for (size_t i = 0; i < n_frames; i++) {
		frames[i].place = &place;
		frames[i].flags = SW_FRAME_EXACT_PC;
	}
	if (sw_symbolize(symbolizer, &walks, &o, &symbols, NULL) == 0)
		for (size_t i = 0; i < n_frames; i++)
			results_read(symbols, &frames[i]);
	sw_symbols_destroy(symbols);
	sw_symbolizer_destroy(symbolizer);
	sw_context_destroy(ctx);
}
