/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "dwarf_split.h"
#include "cleanup.h"
#include "dwarf/plan.h"
#include "dwarf/tables.h"
#include "dwarf/dwp.h"
#include "elf_handle.h"

#include <dwarf.h>
#include <limits.h>
#include <stdio.h>

enum {
	UNITS_MAX = 1 << 16,          /* of one .dwo file: link-time optimization, types */
	ADDR_BYTES_MAX = 8 << 20,     /* of one unit: a million addresses */
	ADDR_HEADER_BYTES = 8,        /* in the 32-bit format, before DW_AT_addr_base */
	ADDR_HEADER_AFTER_LENGTH = 4, /* of them, what the length counts */
};

/* The unit that the skeleton names. */
struct wanted_unit {
	uint64_t id;
	const char *name, *directory; /* directory: NULL: none */
	struct sw_dwarf_skeleton skeleton;
};

static bool number(Dwarf_Die *die, unsigned name, unsigned gnu_name, uint64_t *ret)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;
	if ((dwarf_attr(die, name, &attr) == NULL && dwarf_attr(die, gnu_name, &attr) == NULL) ||
	    dwarf_formudata(&attr, &value) != 0)
		return false;
	*ret = value;
	return true;
}

/* The unit's part of .debug_addr: up to its end in DWARF 5, which says it; else up to the section's. */
static struct sw_bytes addr_part(struct sw_bytes addr, Dwarf_Die *skeleton, unsigned version)
{
	uint64_t base = 0, end = addr.size;
	uint32_t length;
	struct sw_bytes part = {0};
	(void) number(skeleton, DW_AT_addr_base, DW_AT_GNU_addr_base, &base); /* else: 0 */
	if (version >= 5 && base >= ADDR_HEADER_BYTES &&
	    sw_bytes_u32(addr, base - ADDR_HEADER_BYTES, &length) &&
	    length <= end - base + ADDR_HEADER_AFTER_LENGTH && length >= ADDR_HEADER_AFTER_LENGTH)
		end = base - ADDR_HEADER_AFTER_LENGTH + length;
	uint64_t bytes = base <= end ? end - base : 0;
	(void) sw_bytes_sub(addr, base, bytes < ADDR_BYTES_MAX ? bytes : ADDR_BYTES_MAX, &part);
	return part; /* empty when it does not lie inside */
}

/* False when it is not a skeleton. */
static bool wanted_read(Dwarf_Die *die, const struct sw_dwarf_file *file, struct wanted_unit *ret)
{
	Dwarf_Attribute attr;
	Dwarf_Addr base;
	Dwarf_Half version;
	uint8_t address_bytes;
	uint64_t ranges_base = 0;
	if (dwarf_attr(die, DW_AT_dwo_name, &attr) == NULL &&
	    dwarf_attr(die, DW_AT_GNU_dwo_name, &attr) == NULL)
		return false;
	*ret = (struct wanted_unit){.name = dwarf_formstring(&attr)};
	/* A unit that has it all, as clang -fsplit-dwarf-inlining writes them, is no skeleton to libdw,
	 * which then knows no id in DWARF 4. */
	if (ret->name == NULL ||
	    dwarf_cu_info(die->cu, &version, NULL, NULL, NULL, &ret->id, &address_bytes, NULL) !=
		    0 ||
	    (address_bytes != sizeof(uint64_t) && address_bytes != sizeof(uint32_t)))
		return false;
	ret->skeleton.address_bytes = address_bytes;
	(void) number(die, DW_AT_GNU_dwo_id, DW_AT_GNU_dwo_id, &ret->id); /* else: the header's */
	if (dwarf_attr(die, DW_AT_comp_dir, &attr) != NULL)
		ret->directory = dwarf_formstring(&attr);
	if (dwarf_lowpc(die, &base) == 0)
		ret->skeleton.base = base;
	ret->skeleton.addr = addr_part(file->addr, die, version);
	(void) number(die, DW_AT_GNU_ranges_base, DW_AT_GNU_ranges_base, &ranges_base); /* 0 */
	if (ranges_base <= file->ranges.size)
		(void) sw_bytes_sub(file->ranges, ranges_base, file->ranges.size - ranges_base,
				    &ret->skeleton.ranges); /* was just checked */
	return true;
}

static bool unit_find(struct sw_dwarf_split *split, uint64_t id)
{
	Dwarf_CU *unit = NULL;
	for (int i = 0; i < UNITS_MAX; i++) {
		uint64_t its_id = 0;
		if (dwarf_get_units(split->file.dwarf, unit, &unit, NULL, NULL, &split->die,
				    NULL) != 0)
			return false;
		if (dwarf_tag(&split->die) == DW_TAG_compile_unit &&
		    dwarf_cu_info(unit, NULL, NULL, NULL, NULL, &its_id, NULL, NULL) == 0 &&
		    its_id == id)
			return true;
	}
	return false;
}

/* Fills the region, whose last bytes are for the addresses and tables, and opens it. */
static bool view_fill(struct sw_dwarf_split *split, const struct sw_dwarf_plan *plan,
		      uint64_t tail_off, bool is_32bit, const struct wanted_unit *wanted)
{
	struct sw_dwarf_section sections[SW_DWARF_SECTIONS] = {0};
	struct sw_bytes addr = wanted->skeleton.addr;
	uint8_t *region = split->file.region;
	split->skeleton = wanted->skeleton;
	for (size_t k = 0; k < SW_DWARF_SECTIONS; k++) {
		const struct sw_dwarf_wanted *w = &plan->wanted[k];
		if (w->section.type != SHT_NULL)
			sections[k] =
				(struct sw_dwarf_section){sw_dwarf_section_names[k],
							  w->off + w->part_off, w->part_bytes};
	}
	/* Files are numbered by the skeleton's table. */
	sections[SW_DWARF_LINE].name = NULL;
	sections[SW_DWARF_ADDR] =
		(struct sw_dwarf_section){".debug_addr", tail_off + SW_DWARF_TABLES_BYTES,
					  addr.size};
	if (addr.size > 0)
		memcpy(region + sections[SW_DWARF_ADDR].off, addr.data, addr.size);
	const struct sw_dwarf_section *lists = &sections[SW_DWARF_RNGLISTS];
	if (lists->name != NULL)
		split->skeleton.rnglists = (struct sw_bytes){region + lists->off, lists->bytes};
	sw_dwarf_tables_write(region, tail_off, is_32bit, sections, SW_DWARF_SECTIONS);
	split->file.elf =
		sw_elf_handle((struct sw_bytes){split->file.region, split->file.region_bytes});
	if (split->file.elf != NULL)
		split->file.dwarf = dwarf_begin_elf(split->file.elf, DWARF_C_READ, NULL);
	return split->file.dwarf != NULL && unit_find(split, wanted->id);
}

/* fd: -1: image is not a file. dwp: it is a package. */
static enum sw_dwarf_open view_open(struct sw_dwarf_split *split, const struct wanted_unit *wanted,
				    int fd, const struct sw_elf *elf, bool dwp,
				    const struct sw_request *request)
{
	struct sw_dwarf_plan plan;
	const char *why;
	*split = (struct sw_dwarf_split){0};
	if (!sw_dwarf_plan_make(&plan, elf, true) ||
	    (dwp && !sw_dwp_narrow(elf, wanted->id, &plan)))
		return SW_DWARF_NONE;
	if (sw_dwarf_plan_late(&plan, request->deadline_ns))
		return SW_DWARF_LATE;
	uint64_t tail_off = plan.region_bytes; /* whole pages */
	plan.region_bytes += SW_DWARF_TABLES_BYTES + wanted->skeleton.addr.size + UINT8_MAX;
	if (elf->is_32bit && plan.region_bytes > UINT32_MAX)
		return SW_DWARF_NONE;
	split->file.region = sw_dwarf_plan_map(&plan, fd, elf);
	if (split->file.region == NULL)
		return SW_DWARF_NONE;
	split->file.region_bytes = plan.region_bytes;
	enum sw_dwarf_open r =
		sw_dwarf_plan_inflate(&plan, split->file.region, request->deadline_ns, &why);
	if (r == SW_DWARF_OPENED && !view_fill(split, &plan, tail_off, elf->is_32bit, wanted))
		r = SW_DWARF_NONE;
	if (r != SW_DWARF_OPENED)
		sw_dwarf_file_close(&split->file);
	return r;
}

static enum sw_dwarf_open dwo_open(struct sw_dwarf_split *split, const struct wanted_unit *wanted,
				   const char *directory, const char *path,
				   const struct sw_request *request)
{
	struct sw_image image;
	struct sw_elf elf;
	size_t length = strlen(path);
	enum sw_dwarf_open r = SW_DWARF_NONE;
	if (length < 4 || strcmp(path + length - 4, ".dwo") != 0)
		return r;
	if (strcmp(directory, "/") == 0 && request->options != NULL &&
	    request->options->dwo_read != NULL) {
		const void *bytes = NULL;
		size_t size = request->options->dwo_read(request->options->dwo_arg, path,
							 request->deadline_ns, &bytes);
		return size > 0 && sw_elf_init(&elf, (struct sw_bytes){bytes, size})
			       ? view_open(split, wanted, -1, &elf, false, request)
			       : r;
	}
	if (!sw_image_map(&image, request, directory, path))
		return r;
	if (sw_elf_init(&elf, image.bytes))
		r = view_open(split, wanted, image.fd, &elf, false, request);
	sw_image_deinit(&image);
	return r;
}

/* Where the compiler put it, in the debug directory, or beside the program. */
static enum sw_dwarf_open dwo_find(struct sw_dwarf_split *split, const struct wanted_unit *wanted,
				   const struct sw_unit *unit, const struct sw_request *request)
{
	char path[PATH_MAX];
	const char *program = sw_module_path(unit->module), *slash = strrchr(program, '/');
	bool absolute = wanted->name[0] == '/';
	int n = snprintf(path, sizeof(path), "%s/%s",
			 absolute || wanted->directory == NULL ? "" : wanted->directory,
			 wanted->name);
	if (n < 0 || (size_t) n >= sizeof(path))
		return SW_DWARF_NONE;
	enum sw_dwarf_open r = SW_DWARF_NONE;
	bool ours = sw_unit_is_here(unit, request->local);
	if (ours && path[0] == '/')
		r = dwo_open(split, wanted, "/", path, request);
	if (r == SW_DWARF_NONE)
		r = dwo_open(split, wanted, request->debug_dir, path, request);
	if (r != SW_DWARF_NONE || !ours || absolute || slash == NULL)
		return r;
	n = snprintf(path, sizeof(path), "%.*s/%s", (int) (slash - program), program, wanted->name);
	return n > 0 && (size_t) n < sizeof(path) ? dwo_open(split, wanted, "/", path, request) : r;
}

static bool dwp_map(struct sw_dwp *dwp, bool found)
{
	if (!found)
		return false;
	if (sw_elf_init(&dwp->elf, dwp->image.bytes))
		return true;
	sw_image_deinit(&dwp->image);
	return false;
}

/* PROGRAM.dwp, beside it or in the debug directory. */
static bool dwp_find(struct sw_dwp *dwp, const struct sw_unit *unit,
		     const struct sw_request *request)
{
	char path[PATH_MAX];
	if (dwp->tried)
		return dwp->found;
	dwp->tried = true;
	int n = snprintf(path, sizeof(path), "%s.dwp", sw_module_path(unit->module));
	dwp->found = n > 0 && (size_t) n < sizeof(path) && path[0] == '/' &&
		     ((sw_unit_is_here(unit, request->local) &&
		       dwp_map(dwp, sw_image_map_beside(&dwp->image, request, "/", path + 1))) ||
		      dwp_map(dwp, sw_image_map(&dwp->image, request, request->debug_dir, path)));
	return dwp->found;
}

enum sw_dwarf_open sw_dwarf_split_open(struct sw_dwarf_split *ret, Dwarf_Die *skeleton,
				       struct sw_dwarf_file *file, struct sw_unit *unit,
				       struct sw_dwp *dwp, const struct sw_request *request)
{
	struct wanted_unit wanted;
	enum sw_dwarf_open r = SW_DWARF_NONE;
	if (!wanted_read(skeleton, file, &wanted))
		return SW_DWARF_NONE;
	bool packed = dwp_find(dwp, unit, request);
	if (packed)
		r = view_open(ret, &wanted, dwp->image.fd, &dwp->elf, true, request);
	if (r == SW_DWARF_NONE)
		r = dwo_find(ret, &wanted, unit, request);
	if (r == SW_DWARF_NONE)
		file->why = packed ? "its .dwp file is damaged, or that of another program"
				   : "the .dwo or .dwp file with its inlined calls was not found";
	return r;
}

void sw_dwp_deinit(struct sw_dwp *dwp)
{
	if (dwp->found)
		sw_image_deinit(&dwp->image);
	*dwp = (struct sw_dwp){0};
}
