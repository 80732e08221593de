/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The symbolizer over a PE file: COFF symbols, exports, extents of functions, DWARF. The addresses
 * asked for are those that the file's own tables name.
 */
#include "cleanup.h"
#include "module.h"
#include "pe_file.h"

#include <snapwalk/symbolize.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FRAMES_MAX = 64, BIAS = 0x10000 };

static void frame_add(struct sw_frame *frames, size_t *n, uint64_t svma)
{
	if (*n < FRAMES_MAX)
		frames[(*n)++].pc_avma = svma + BIAS;
}

/* Some at the edges, in each part of a function, and where symbols say that code is. */
static size_t addresses_pick(struct sw_bytes image, struct sw_frame *frames)
{
	static const uint64_t edges[] = {0, 1, UINT32_MAX, UINT64_MAX, 0x1000, 0x1020, 0x1110};
	struct sw_pefile pe;
	struct sw_bytes functions = {0};
	uint32_t rva = 0;
	size_t n = 0;
	for (size_t i = 0; i < SW_ARRAY_SIZE(edges); i++)
		frame_add(frames, &n, edges[i]);
	if (!sw_pefile_init(&pe, image))
		return n;
	(void) sw_pefile_directory(&pe, SW_PEFILE_EXCEPTION, &rva, &functions); /* none: empty */
	for (uint64_t at = 0; sw_bytes_u32(functions, at, &rva) && at < 16 * 12; at += 12)
		frame_add(frames, &n, (uint64_t) rva + 5);
	for (uint64_t at = 8; sw_bytes_u32(pe.symbols, at, &rva); at += SW_PEFILE_SYMBOL_BYTES)
		frame_add(frames, &n, 0x1000 + (uint64_t) rva);
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
		assert(found[i].function_offset <= frame->pc_avma - BIAS);
	}
	assert(bytes < SIZE_MAX);
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
	int fd = memfd_create("pe", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t) size || fstat(fd, &st) < 0)
		abort();
	if (sw_context_create(&ctx, NULL) < 0 ||
	    sw_context_module_file(ctx, SW_MODULE_PE, "/nonexistent/x.dll", false, fd, &st,
				   &module) < 0 ||
	    sw_symbolizer_create(ctx, &symbolizer, NULL) < 0)
		abort();
	struct sw_place place = {.module = module,
				 .end_avma = UINT64_MAX,
				 .bias = BIAS,
				 .resolved = 1};
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
