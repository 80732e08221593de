/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbolize_file.h"
#include "snapshot/module.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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
