/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The symbolizer over a PE file: COFF symbols, exports, extents of functions, DWARF. The addresses
 * asked for are those that the file's own tables name.
 */
#include "fuzz.h"
#include "cleanup.h"
#include "pe_file.h"
#include "symbolize_file.h"

enum { FRAMES_MAX = 64, BIAS = SYMBOLIZE_FILE_BIAS };

static void frame_add(struct sw_frame *frames, size_t *n, uint64_t svma)
{
	if (*n < FRAMES_MAX)
		frames[(*n)++].pc_avma = svma + BIAS;
}

/* Some at the edges, in each part of a function, and where symbols say that code is. */
static size_t addresses_pick(struct sw_bytes image, struct sw_frame *frames)
{
	static const uint64_t edges[] = {0, 1, UINT32_MAX, UINT64_MAX, 0x1000, 0x1020, 0x1110};
	struct sw_pe_file pe;
	struct sw_bytes functions = {0};
	uint32_t rva = 0;
	size_t n = 0;
	for (size_t i = 0; i < SW_ARRAY_SIZE(edges); i++)
		frame_add(frames, &n, edges[i]);
	if (!sw_pe_file_init(&pe, image))
		return n;
	(void) sw_pe_file_directory(&pe, pe.headers.exception, &functions); /* none: empty */
	for (uint64_t at = 0; sw_bytes_u32(functions, at, &rva) && at < 16 * 12; at += 12)
		frame_add(frames, &n, (uint64_t) rva + 5);
	for (uint64_t at = 8; sw_bytes_u32(pe.symbols, at, &rva); at += SW_PE_FILE_SYMBOL_BYTES)
		frame_add(frames, &n, 0x1000 + (uint64_t) rva);
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sw_frame frames[FRAMES_MAX] = {0};
	struct sw_bytes image = {data, size};
	symbolize_file(SW_MODULE_PE, image, frames, addresses_pick(image, frames));
	return 0;
}
