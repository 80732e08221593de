/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "clr_r2r_make.h"
#include "runtimes/clr/code/entry_points.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { SECTION_FUNCTIONS = 102, FUNCTION_BYTES = 12 };

void clr_r2r_put(struct clr_r2r *w, size_t at, uint64_t value, size_t bytes)
{
	memcpy(w->image + at, &value, bytes);
}

void clr_r2r_section(struct clr_r2r *w, uint32_t type, uint32_t rva, const void *bytes, size_t n)
{
	const uint32_t section[] = {type, rva, (uint32_t) n};
	assert_true(n <= sizeof(w->image) - rva);
	memcpy(w->image + R2R_HEADER + 16 + w->n_sections * sizeof(section), section,
	       sizeof(section));
	if (n > 0)
		memcpy(w->image + rva, bytes, n);
	clr_r2r_put(w, R2R_HEADER + 12, ++w->n_sections, 4);
}

struct clr_r2r *clr_r2r_create(const uint32_t (*functions)[2], size_t n)
{
	struct clr_r2r *w = calloc(1, sizeof(*w));
	uint8_t table[R2R_ENTRIES - R2R_FUNCTIONS] = {0};
	assert_non_null(w);
	assert_true(n * FUNCTION_BYTES <= sizeof(table));
	clr_make_image(w->image, 1, 1);
	clr_r2r_put(w, R2R_CLI + 64, R2R_HEADER, 4);
	memcpy(w->image + R2R_HEADER, "RTR", 4);
	for (size_t i = 0; i < n; i++)
		memcpy(table + i * FUNCTION_BYTES, functions[i], sizeof(*functions));
	clr_r2r_section(w, SECTION_FUNCTIONS, R2R_FUNCTIONS, table, n * FUNCTION_BYTES);
	w->region = (struct fake_region){R2R_BASE, w->image, sizeof(w->image)};
	w->fake = (struct fake_memory){&w->region, 1, 0};
	w->runtime.at = sw_clr_layout_fixed(0, 0);
	w->names = calloc(1, sizeof(*w->names));
	assert_non_null(w->names);
	w->names->memory = fake_memory(&w->fake);
	w->names->arena = &w->arena;
	return w;
}

void clr_r2r_destroy(struct clr_r2r *w)
{
	sw_clr_names_destroy(w->names);
	sw_arena_deinit(&w->arena);
	free(w);
}

const char *clr_r2r_name(struct clr_r2r *w, uint32_t begin_rva)
{
	const struct sw_clr_code code = {.kind = SW_CLR_CODE_R2R,
					 .base_avma = R2R_BASE,
					 .function = {.begin_rva = begin_rva},
					 .runtime = &w->runtime};
	w->start = (struct sw_clr_start){0};
	return sw_clr_entry_point_name(w->names, &code, &w->start);
}
