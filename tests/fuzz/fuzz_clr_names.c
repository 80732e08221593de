/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * MethodDescs, types and modules that anybody wrote. The input is laid over a small world that is
 * right, in parts: u16 offset / 8 | u8 length | bytes. Then methods of all kinds are named. The same
 * input as the table of instances of a ReadyToRun image: then its functions are named.
 */
#include "fuzz.h"
#include "clr_named.h"
#include "clr_r2r_make.h"

#include "bytes.h"
#include "runtimes/clr/published/name_layout.h"

#include <string.h>

enum { READS_MAX = 600000 };

static void lay_over(struct clr_named *w, const uint8_t *data, size_t size)
{
	struct sw_bytes b = {data, size}, part;
	uint16_t offset;
	uint8_t length;
	for (uint64_t at = 0; sw_bytes_u16(b, at, &offset) && sw_bytes_u8(b, at + 2, &length);
	     at += 3 + length) {
		size_t to = (size_t) offset * 8 % sizeof(w->data);
		if (!sw_bytes_sub(b, at + 3, length, &part))
			return;
		if (length > sizeof(w->data) - to)
			length = (uint8_t) (sizeof(w->data) - to);
		memcpy(w->data + to, part.data, length);
	}
}

/* As it was made, and nothing remembered. */
static void restore(struct clr_named *w, const uint8_t right[NAMED_DATA_BYTES])
{
	memcpy(w->data, right, sizeof(w->data));
	sw_map64_deinit(&w->names->methods);
	sw_map64_deinit(&w->names->modules);
	sw_arena_deinit(&w->arena);
	w->fake.reads = 0;
}

static void name_functions(const uint8_t *data, size_t size)
{
	enum { SECTION_ENTRY_POINTS = 103, SECTION_INSTANCES = 109, N = 16, BYTES = 0x10 };
	uint32_t functions[N][2];
	for (uint32_t i = 0; i < N; i++) {
		functions[i][0] = i * BYTES;
		functions[i][1] = (i + 1) * BYTES;
	}
	struct clr_r2r *w = clr_r2r_create(functions, N);
	/* Method 1 begins with function 0. */
	static const uint8_t entries[] = {1 << 2 << 1, 1, 0 << 2 << 1, 0 << 1 << 1};
	clr_r2r_section(w, SECTION_ENTRY_POINTS, R2R_ENTRIES, entries, sizeof(entries));
	clr_r2r_section(w, SECTION_INSTANCES, R2R_INSTANCES, data,
			size < R2R_INSTANCES_MAX ? size : R2R_INSTANCES_MAX);
	for (uint32_t i = 0; i < N; i++) {
		const char *name = clr_r2r_name(w, functions[i][0]);
		if (w->fake.reads > READS_MAX ||
		    (name != NULL && (strncmp(name, "T.dll!", 6) != 0 || w->start.index > i)))
			__builtin_trap();
	}
	clr_r2r_destroy(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t tables[] = {NAMED_DATA + NAMED_OUTER, NAMED_DATA + NAMED_INNER,
					  NAMED_DATA + NAMED_MATRIX, NAMED_DATA + NAMED_LOOP};
	struct clr_named *w = clr_named_create();
	const struct sw_clr_name_layout fixed = sw_clr_name_layout_fixed();
	uint8_t right[NAMED_DATA_BYTES];
	memcpy(right, w->data, sizeof(right));
	for (unsigned i = 0; i < 32; i++) {
		restore(w, right);
		uint64_t method = clr_named_method(w, tables[i / 4 % 4], 4 + i % 4, 1 + i % 5);
		lay_over(w, data, size);
		const char *name = sw_clr_method_name(w->names, i < 16 ? &w->at : &fixed, method);
		if (w->fake.reads > READS_MAX ||
		    (name != NULL && strlen(name) > SW_CLR_METHOD_NAME_MAX))
			__builtin_trap(); /* every loop has a limit */
	}
	clr_named_destroy(w);
	name_functions(data, size);
	return 0;
}
