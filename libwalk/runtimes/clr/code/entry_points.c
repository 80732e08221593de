/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names of ReadyToRun code where the runtime does not say which method it is: the image itself says
 * which function each method begins with, those of its own here, instances of generic methods in
 * runtimes/clr/metadata/instances.c. A method's funclets follow its body, without a gap (src/coreclr/tools/aot,
 * RuntimeFunctionsTableNode.cs): in all images of .NET 8.0.31 and 9.0.20 every function that no method
 * begins with is such a one.
 *
 *	MethodDefEntryPoints: a sparse array, by the method's row - 1, of numbers
 *		index of the function << 1			it has no fixups
 *		index of the function << 2 | more fixups << 1 | 1
 *
 * Source: dotnet/runtime v10.0.0, docs/design/coreclr/botr/readytorun-format.md; the same in v8.0.0.
 */
#include "runtimes/clr/code/entry_points.h"
#include "bytes.h"
#include "cleanup.h"
#include "runtimes/clr/code/r2r.h"
#include "runtimes/clr/metadata/instances.h"
#include "runtimes/clr/metadata/remote.h"
#include "runtimes/clr/code/names.h"
#include "runtimes/clr/metadata/native_array.h"

#include <stdlib.h>
#include <string.h>

enum {
	SECTION_FUNCTIONS = 102,
	SECTION_ENTRY_POINTS = 103,
	SECTION_INSTANCES = 109,
	SECTION_HOT_COLD = 120,
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
	bool instances_tried;
	bool has_all_starts;       /* of methods: what lies between two is a funclet of the first */
	struct sw_bytes section;   /* owned: instances */
	struct sw_map64 instances; /* index of an instance's first function -> where its entry is */
};

/* False: they are not all. */
static bool rows_fill(struct sw_clr_image *image, struct sw_bytes b)
{
	struct sw_clr_native_array array;
	uint32_t id;
	uint64_t at;
	if (!sw_clr_native_array_open(b, &array))
		return false;
	for (uint32_t i = 0; i < array.n && i < METHODS_MAX; i++)
		if (sw_clr_native_array_find(&array, i, &at) && sw_clr_native_number(b, &at, &id) &&
		    sw_map64_put(&image->rows, sw_clr_entry_function(id), i + 1) < 0)
			return false; /* no memory: those found so far */
	return array.n <= METHODS_MAX;
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

/* All of a section; empty when there is none, or none that is read. False: no memory for it. */
static bool section_read(struct sw_memory m, const struct sw_clr_image *image, uint32_t type,
			 struct sw_bytes *ret)
{
	uint32_t rva, bytes;
	*ret = (struct sw_bytes){0};
	if (!sw_clr_r2r_section(m, image->base_avma, type, &rva, &bytes) || bytes == 0 ||
	    bytes > SECTION_BYTES_MAX)
		return true;
	uint8_t *section = malloc(bytes);
	if (section == NULL)
		return false;
	if (sw_clr_read(m, image->base_avma, rva, section, bytes))
		*ret = (struct sw_bytes){section, bytes};
	else
		free(section);
	return true;
}

static bool image_read(struct sw_clr_names *names, const struct sw_clr_runtime *runtime,
		       struct sw_clr_image *image)
{
	uint32_t rva, bytes;
	struct sw_bytes section;
	struct sw_memory m = names->memory;
	if (!sw_clr_r2r_section(m, image->base_avma, SECTION_FUNCTIONS, &rva, &bytes))
		return true; /* there are no names in it */
	image->table_avma = image->base_avma + rva;
	image->n_functions = bytes / runtime->at.function_bytes;
	image->has_metadata = sw_clr_image_metadata(m, image->base_avma, true, &image->metadata);
	if (!image->has_metadata)
		return true;
	image->name = image_name(names, &image->metadata);
	if (image->name == NULL || !section_read(m, image, SECTION_ENTRY_POINTS, &section))
		return false;
	/* Cold parts of methods lie elsewhere, and follow others than their own. */
	image->has_all_starts =
		rows_fill(image, section) &&
		!sw_clr_r2r_section(m, image->base_avma, SECTION_HOT_COLD, &rva, &bytes);
	free((uint8_t *) section.data);
	return true;
}

/* Instances are many, and most code is none: only when they are asked for. */
static void instances_read(struct sw_clr_names *names, struct sw_clr_image *image)
{
	uint32_t rva, bytes;
	if (image->instances_tried)
		return;
	image->instances_tried = true;
	if (!sw_clr_r2r_section(names->memory, image->base_avma, SECTION_INSTANCES, &rva, &bytes))
		return; /* there are none */
	if (!section_read(names->memory, image, SECTION_INSTANCES, &image->section) ||
	    !sw_clr_instances_index(image->section, image->n_functions, &image->instances))
		image->has_all_starts = false;
}

static struct sw_clr_image *image_get(struct sw_clr_names *names,
				      const struct sw_clr_runtime *runtime, uint64_t base_avma)
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
	for (; images != NULL; images = images->next) {
		sw_map64_deinit(&images->rows);
		sw_map64_deinit(&images->instances);
		free((uint8_t *) images->section.data);
	}
}

/* The name of the method whose first function is number i. False: no method begins there. */
static bool start_name(struct sw_clr_names *names, struct sw_clr_image *image, uint64_t i,
		       bool *ret_named, struct sw_text *text)
{
	uint64_t found;
	if (sw_map64_get(&image->rows, i, &found)) {
		*ret_named = sw_clr_row_name(&image->metadata, (uint32_t) found, text);
		return true;
	}
	instances_read(names, image);
	if (!sw_map64_get(&image->instances, i, &found))
		return false;
	*ret_named = sw_clr_instance_name(&image->metadata, image->section, found, text);
	return true;
}

/* The same of the function or of what it is a funclet of. */
static bool function_name(struct sw_clr_names *names, const struct sw_clr_runtime *runtime,
			  struct sw_clr_image *image, uint32_t rva, struct sw_clr_start *ret,
			  struct sw_text *text)
{
	uint64_t i;
	bool named = false;
	struct sw_pe_function f, before;
	const struct sw_clr_layout *at = &runtime->at;
	if (!sw_clr_function_search(at, names->memory, image->table_avma, image->n_functions, rva,
				    &i, &f))
		return false;
	for (ret->index = 0; !start_name(names, image, i, &named, text);
	     ret->index++, i--, f = before)
		if (!image->has_all_starts || ret->index == SW_CLR_FUNCLETS_MAX || i == 0 ||
		    !sw_clr_function_read(at, names->memory, image->table_avma, i - 1, &before) ||
		    before.end_rva != f.begin_rva)
			return false;
	ret->start_avma = image->base_avma + f.begin_rva;
	return named;
}

const char *sw_clr_entry_point_name(struct sw_clr_names *names, const struct sw_clr_code *code,
				    struct sw_clr_start *ret)
{
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	struct sw_clr_image *image = image_get(names, code->runtime, code->base_avma);
	struct sw_clr_start start;
	if (image == NULL || image->name == NULL)
		return NULL;
	sw_text_printf(&text, "%s!", image->name);
	if (!function_name(names, code->runtime, image, code->function.begin_rva, &start, &text) ||
	    text.failed)
		return NULL;
	const char *name = sw_arena_strdup(names->arena, text.data);
	if (name != NULL)
		*ret = start;
	return name;
}
