/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Functions that were inlined: a pcdata table has, for each instruction, the number of a call in
 * the function's tree of calls; each call knows the instruction that stands for the place of the
 * call. Source: runtime.inlinedCall of go1.19.8 and go1.26.
 *
 *	1.18, 1.19   i16 parent | u8 id, pad | i32 file | i32 line | i32 name | i32 parent's pc
 *	since 1.20   u8 id, pad | i32 name | i32 parent's pc | i32 first line
 */
#include "runtimes/go/inlined.h"
#include "snapshot/module.h"

/* The call n of the function's tree. */
static bool call_read(const struct sw_go_module *module, const struct sw_go_func *func, int32_t n,
		      int32_t *ret_name, uint32_t *ret_parent_off)
{
	const struct sw_go_image *image = &module->image;
	const struct sw_elf *elf = sw_module_elf(module->place->module);
	uint64_t entry = image->table.v118 ? 20 : 16, name_at = image->table.v118 ? 12 : 4;
	struct sw_bytes tree;
	uint32_t tree_off, name;
	if (image->gofunc_svma == 0 || n < 0 || elf == NULL ||
	    !sw_go_funcdata(&image->table, func, SW_GO_FUNCDATA_INLINED, &tree_off) ||
	    !sw_elf_loaded(elf, image->gofunc_svma + tree_off, &tree) ||
	    !sw_bytes_u32(tree, entry * (uint64_t) n + name_at, &name) ||
	    !sw_bytes_u32(tree, entry * (uint64_t) n + name_at + 4, ret_parent_off))
		return false;
	*ret_name = (int32_t) name;
	return true;
}

size_t sw_go_levels(const struct sw_go_module *module, const struct sw_go_func *func, uint64_t off,
		    struct sw_go_level *ret, size_t max)
{
	const struct sw_go_pclntab *t = &module->image.table;
	size_t n = 0;
	while (n + 1 < max) {
		struct sw_go_level *level = &ret[n];
		int32_t call, name;
		uint32_t parent_off;
		if (!sw_go_pcdata(t, func, SW_GO_PCDATA_INLINED, off, &call) || call < 0 ||
		    !call_read(module, func, call, &name, &parent_off) ||
		    func->start_off + parent_off >= func->end_off)
			break;
		level->name = sw_go_name(t, name);
		if (level->name == NULL)
			break;
		sw_go_line(t, func, off, &level->file, &level->line);
		off = func->start_off + parent_off;
		n++;
	}
	ret[n].name = func->name;
	sw_go_line(t, func, off, &ret[n].file, &ret[n].line);
	return n + 1;
}
