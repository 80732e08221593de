/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Modules of the runtime: what their file is called and where their metadata lies.
 *
 *	Module -> PEAssembly -> PEImage -> layout: base, mapped or flat	.NET 10
 *	Module -> base								.NET 9
 *	Module -> saved metadata						assemblies made at run time
 *
 * Source: dotnet/runtime v10.0.0, docs/design/datacontracts/Loader.md and EcmaMetadata.md.
 */
#include "cleanup.h"
#include "runtimes/clr/metadata/remote.h"
#include "runtimes/clr/code/names.h"
#include "runtimes/clr/published/name_layout.h"
#include "runtimes/clr/metadata/string.h"

#include <string.h>

enum {
	PATH_MAX_UNITS = 4096,
	LAYOUT_MAPPED = 1,   /* PEImageLayout: FLAG_MAPPED */
	MODULE_EDITABLE = 8, /* Module: IS_EDIT_AND_CONTINUE */
	MODULE_NAME = 1,     /* column of the Module table */
	MODULES_MAX = 65536, /* that are remembered */
};

static bool field_u64(struct sw_memory m, uint64_t avma, uint32_t offset, uint64_t *ret)
{
	return offset != SW_CLR_ABSENT && sw_clr_u64(m, avma, offset, ret) && *ret != 0;
}

static bool image_open(struct sw_memory m, uint64_t base_avma, bool mapped,
		       struct sw_clr_module *module)
{
	return module->has_image = sw_clr_pe_open(m, base_avma, mapped, &module->image) &&
				   sw_clr_pe_metadata(&module->image, &module->metadata);
}

static bool layout_metadata(struct sw_memory m, const struct sw_clr_name_layout *at,
			    uint64_t module_avma, struct sw_clr_module *module)
{
	uint64_t assembly, image, layout, base;
	uint32_t flags;
	return field_u64(m, module_avma, at->module_assembly, &assembly) &&
	       field_u64(m, assembly, at->assembly_image, &image) &&
	       field_u64(m, image, at->image_layout, &layout) &&
	       field_u64(m, layout, at->layout_base, &base) && at->layout_flags != SW_CLR_ABSENT &&
	       sw_clr_u32(m, layout, at->layout_flags, &flags) &&
	       image_open(m, base, flags & LAYOUT_MAPPED, module);
}

static bool base_metadata(struct sw_memory m, const struct sw_clr_name_layout *at,
			  uint64_t module_avma, struct sw_clr_module *module)
{
	uint64_t base;
	/* The runtime does not say whether the image is mapped or flat: metadata is where its mark
	 * is. */
	return field_u64(m, module_avma, at->module_base, &base) &&
	       (image_open(m, base, true, module) || image_open(m, base, false, module));
}

static bool saved_metadata(struct sw_memory m, const struct sw_clr_name_layout *at,
			   uint64_t module_avma, struct sw_clr_metadata *ret)
{
	uint64_t saved;
	uint32_t bytes;
	return field_u64(m, module_avma, at->module_dynamic, &saved) &&
	       at->dynamic_bytes != SW_CLR_ABSENT && at->dynamic_data != SW_CLR_ABSENT &&
	       sw_clr_u32(m, saved, at->dynamic_bytes, &bytes) &&
	       sw_clr_metadata_open(m, saved + at->dynamic_data, bytes, ret);
}

/* Whether its methods may have been replaced ("hot reload"): then they are others than in its file. */
static bool is_edited(struct sw_memory m, const struct sw_clr_name_layout *at, uint64_t module_avma)
{
	uint32_t flags;
	return at->module_flags != SW_CLR_ABSENT &&
	       sw_clr_u32(m, module_avma, at->module_flags, &flags) && flags & MODULE_EDITABLE;
}

/* The last part of its path; without a path (single files), the name that the compiler gave it. */
static const char *module_name(struct sw_clr_names *names, const struct sw_clr_name_layout *at,
			       uint64_t module_avma, const struct sw_clr_module *module)
{
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	uint64_t path;
	uint32_t index;
	if ((!field_u64(names->memory, module_avma, at->module_path, &path) ||
	     !sw_clr_utf16_read(names->memory, path, PATH_MAX_UNITS, &text) || text.size == 0) &&
	    (!module->has_metadata ||
	     !sw_clr_metadata_get(&module->metadata, SW_CLR_TABLE_MODULE, 1, MODULE_NAME, &index) ||
	     !sw_clr_metadata_string(&module->metadata, index, &text)))
		return "";
	if (text.data == NULL)
		return "";
	/* "Z:\\app\\T.dll": one of Windows begins with its drive, or with two backslashes. */
	const char *name = strrchr(text.data, text.data[0] == '/' ? '/' : '\\');
	return sw_arena_strdup(names->arena, name != NULL ? name + 1 : text.data);
}

const struct sw_clr_module *sw_clr_module_get(struct sw_clr_names *names,
					      const struct sw_clr_name_layout *at,
					      uint64_t module_avma)
{
	uint64_t kept;
	if (sw_map64_get(&names->modules, module_avma, &kept))
		return (const struct sw_clr_module *) (uintptr_t) kept;
	struct sw_clr_module *module = sw_arena_calloc(names->arena, 1, sizeof(*module));
	if (module == NULL)
		return NULL;
	module->has_metadata = layout_metadata(names->memory, at, module_avma, module) ||
			       base_metadata(names->memory, at, module_avma, module) ||
			       saved_metadata(names->memory, at, module_avma, &module->metadata);
	module->edited = is_edited(names->memory, at, module_avma);
	module->name = module_name(names, at, module_avma, module);
	if (module->name == NULL)
		return NULL;
	if (names->modules.count < MODULES_MAX)
		(void) sw_map64_put(&names->modules, module_avma,
				    (uintptr_t) module); /* lost: it is opened again */
	return module;
}
