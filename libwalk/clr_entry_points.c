/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names of ReadyToRun code where the runtime does not say which method it is: the image itself says
 * which function each method of its own begins with. Instances of generic methods are not in there,
 * and what follows a method may be one of them as well as its funclets: only exact matches count.
 *
 *	MethodDefEntryPoints: a sparse array, by the method's row - 1, of numbers
 *		index of the function << 1			it has no fixups
 *		index of the function << 2 | more fixups << 1 | 1
 *
 * Source: dotnet/runtime v10.0.0, docs/design/coreclr/botr/readytorun-format.md; the same in v8.0.0.
 */
#include "bytes.h"
#include "cleanup.h"
#include "clr_functions.h"
#include "clr_memory.h"
#include "clr_names.h"
#include "clr_native_array.h"

#include <stdlib.h>
#include <string.h>

enum {
	SECTION_FUNCTIONS = 102,
	SECTION_ENTRY_POINTS = 103,
	SECTION_BYTES_MAX = 16 << 20,
	METHODS_MAX = 1 << 20,
	IMAGES_MAX = 4096,
	MODULE_NAME = 1, /* column */
};

struct sw_clr_image {
	struct sw_clr_image *next; /* the arena's */
	uint64_t base_avma, table_avma;
	uint64_t n_functions;
	const char *name;
	bool has_metadata;
	struct sw_clr_metadata metadata;
	struct sw_map64 rows; /* index of a method's first function -> its row */
};

static void rows_fill(struct sw_clr_image *image, struct sw_bytes b)
{
	struct sw_clr_native_array array;
	uint32_t id;
	uint64_t at;
	if (!sw_clr_native_array_open(b, &array))
		return;
	for (uint32_t i = 0; i < array.n && i < METHODS_MAX; i++)
		if (sw_clr_native_array_find(&array, i, &at) && sw_clr_native_number(b, &at, &id) &&
		    sw_map64_put(&image->rows, id & 1 ? id >> 2 : id >> 1, i + 1) < 0)
			return; /* no memory: those found so far */
}

static const char *image_name(struct sw_clr_names *names, const struct sw_clr_metadata *m)
{
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	uint32_t index;
	if (!sw_clr_metadata_get(m, SW_CLR_TABLE_MODULE, 1, MODULE_NAME, &index) ||
	    !sw_clr_metadata_string(m, index, &text) || text.data == NULL)
		return "?";
	return sw_arena_strdup(names->arena, text.data);
}

static bool image_read(struct sw_clr_names *names, const struct sw_clr_runtime *runtime,
		       struct sw_clr_image *image)
{
	uint32_t rva, bytes;
	struct sw_memory m = names->memory;
	if (!sw_clr_r2r_section(m, image->base_avma, SECTION_FUNCTIONS, &rva, &bytes))
		return true; /* there are no names in it */
	image->table_avma = image->base_avma + rva;
	image->n_functions = bytes / runtime->at.function_bytes;
	image->has_metadata = sw_clr_image_metadata(m, image->base_avma, true, &image->metadata);
	if (!image->has_metadata ||
	    !sw_clr_r2r_section(m, image->base_avma, SECTION_ENTRY_POINTS, &rva, &bytes) ||
	    bytes > SECTION_BYTES_MAX)
		return true;
	image->name = image_name(names, &image->metadata);
	sw_cleanup(sw_free_p) uint8_t *section = malloc(bytes);
	if (section == NULL || image->name == NULL)
		return false;
	if (sw_clr_read(m, image->base_avma, rva, section, bytes))
		rows_fill(image, (struct sw_bytes){section, bytes});
	return true;
}

static const struct sw_clr_image *
image_get(struct sw_clr_names *names, const struct sw_clr_runtime *runtime, uint64_t base_avma)
{
	size_t n = 0;
	for (struct sw_clr_image *i = names->images; i != NULL; i = i->next, n++)
		if (i->base_avma == base_avma)
			return i;
	struct sw_clr_image *image =
		n < IMAGES_MAX ? sw_arena_calloc(names->arena, 1, sizeof(*image)) : NULL;
	if (image == NULL)
		return NULL;
	image->base_avma = base_avma;
	image->next = names->images;
	names->images = image;
	return image_read(names, runtime, image) ? image : NULL;
}

void sw_clr_images_deinit(struct sw_clr_image *images)
{
	for (; images != NULL; images = images->next)
		sw_map64_deinit(&images->rows);
}

const char *sw_clr_entry_point_name(struct sw_clr_names *names, const struct sw_clr_code *code)
{
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	const struct sw_clr_image *image = image_get(names, code->runtime, code->base_avma);
	struct sw_pe_function f;
	uint64_t i, row;
	if (image == NULL || image->name == NULL ||
	    !sw_clr_function_search(&code->runtime->at, names->memory, image->table_avma,
				    image->n_functions, code->function.begin_rva, &i, &f) ||
	    !sw_map64_get(&image->rows, i, &row))
		return NULL;
	sw_text_printf(&text, "%s!", image->name);
	if (!sw_clr_row_name(&image->metadata, (uint32_t) row, &text) || text.failed)
		return NULL;
	return sw_arena_strdup(names->arena, text.data);
}
