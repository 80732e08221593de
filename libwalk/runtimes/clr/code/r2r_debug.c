/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Debug information of ReadyToRun methods: a section of the image, which is a sparse array by the index of
 * a method's first function. An element is a number: 0, the information follows; else it lies that many
 * bytes before the element. Source: dotnet/runtime v10.0.0, src/coreclr/vm/readytoruninfo.cpp
 * (GetDebugInfo()); docs/design/coreclr/botr/readytorun-format.md.
 */
#include "runtimes/clr/code/r2r_debug.h"
#include "cleanup.h"
#include "runtimes/clr/code/r2r.h"
#include "runtimes/clr/code/lines.h"
#include "runtimes/clr/metadata/remote.h"
#include "runtimes/clr/metadata/native_array.h"

#include <stdlib.h>

enum {
	SECTION_DEBUG = 105,
	SECTION_BYTES_MAX = 64 << 20,
	IMAGES_MAX = 1024,
	MAJOR_PACKED = 16, /* from here on bounds are written as .NET 10 does */
	MAJOR_LAST = 16,
};

struct sw_clr_r2r_debug {
	struct sw_clr_r2r_debug *next;
	uint64_t base_avma, avma; /* of the image and of the section */
	uint8_t *data;            /* owned: the section; NULL: there is none */
	struct sw_clr_native_array array;
	enum sw_clr_debug_format format;
};

void sw_clr_r2r_debug_free(struct sw_clr_r2r_debug *list)
{
	while (list != NULL) {
		struct sw_clr_r2r_debug *next = list->next;
		free(list->data);
		free(list);
		list = next;
	}
}

static void section_read(struct sw_memory m, struct sw_clr_r2r_debug *d)
{
	uint32_t rva, bytes;
	uint16_t major;
	if (!sw_clr_r2r_major(m, d->base_avma, &major) || major > MAJOR_LAST ||
	    !sw_clr_r2r_section(m, d->base_avma, SECTION_DEBUG, &rva, &bytes) || bytes == 0 ||
	    bytes > SECTION_BYTES_MAX)
		return;
	sw_cleanup(sw_free_p) uint8_t *data = malloc(bytes);
	if (data == NULL || !sw_clr_read(m, d->base_avma, rva, data, bytes) ||
	    !sw_clr_native_array_open((struct sw_bytes){data, bytes}, &d->array))
		return;
	d->avma = d->base_avma + rva;
	d->format = major >= MAJOR_PACKED ? SW_CLR_DEBUG_PACKED : SW_CLR_DEBUG_NIBBLES;
	d->data = sw_take_ptr(data);
}

/* NULL when the image has none. */
static const struct sw_clr_r2r_debug *debug_get(struct sw_clr_names *names, uint64_t base_avma)
{
	struct sw_clr_r2r_debug *d = names->r2r_debug;
	size_t n = 0;
	for (; d != NULL && d->base_avma != base_avma; d = d->next)
		n++;
	if (d == NULL && n < IMAGES_MAX && (d = calloc(1, sizeof(*d))) != NULL) {
		d->base_avma = base_avma;
		d->next = names->r2r_debug;
		names->r2r_debug = d;
		section_read(names->memory, d);
	}
	return d != NULL && d->data != NULL ? d : NULL;
}

/* How far the code of the method may reach whose first function is index: to the next one's. */
static bool code_bytes(struct sw_memory m, const struct sw_clr_code *code,
		       const struct sw_clr_r2r_debug *d, uint64_t table_avma, uint64_t index,
		       uint64_t n, uint32_t *ret)
{
	const struct sw_clr_layout *at = &code->runtime->at;
	struct sw_pe_function f = {0};
	uint64_t element;
	for (uint64_t i = index; i < n && i - index <= SW_CLR_FUNCLETS_MAX; i++) {
		if (i > index && sw_clr_native_array_find(&d->array, (uint32_t) i, &element))
			break;
		if (!sw_clr_function_read(at, m, table_avma, i, &f))
			return false;
	}
	uint64_t end = code->base_avma + f.end_rva;
	if (end <= code->start_avma || end - code->start_avma > UINT32_MAX)
		return false;
	*ret = (uint32_t) (end - code->start_avma);
	return true;
}

bool sw_clr_r2r_debug_find(struct sw_clr_names *names, const struct sw_clr_code *code,
			   struct sw_clr_debug_info *ret)
{
	const struct sw_clr_layout *at = &code->runtime->at;
	struct sw_memory m = names->memory;
	struct sw_pe_function f;
	uint64_t table, index, element, begin;
	uint32_t n, back;
	const struct sw_clr_r2r_debug *d =
		code->info_avma != 0 ? debug_get(names, code->base_avma) : NULL;
	if (d == NULL || !sw_clr_u64(m, code->info_avma, at->r2r_functions, &table) ||
	    !sw_clr_u32(m, code->info_avma, at->r2r_n_functions, &n) ||
	    code->start_avma < code->base_avma ||
	    !sw_clr_function_search(at, m, table, n,
				    (uint32_t) (code->start_avma - code->base_avma), &index, &f) ||
	    code->base_avma + f.begin_rva != code->start_avma ||
	    !sw_clr_native_array_find(&d->array, (uint32_t) index, &element))
		return false;
	begin = element;
	if (!sw_clr_native_number(d->array.bytes, &begin, &back) || back > element ||
	    !code_bytes(m, code, d, table, index, n, &ret->code_bytes))
		return false;
	ret->avma = d->avma + (back != 0 ? element - back : begin);
	ret->bare = true;
	ret->format = d->format;
	return true;
}
