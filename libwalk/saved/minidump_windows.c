/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parts of a snapshot from a minidump that only Windows has: PE images, exceptions. */
#include "saved/minidump_windows.h"
#include "cleanup.h"
#include "formats/pe_image.h"
#include "snapshot/module.h"
#include "snapshot/pe_places.h"
#include "snapshot/read.h"

#include <snapwalk/module.h>

#include <string.h>
#include <sys/stat.h>

enum {
	PAGE = 4096,
	SECTION_READ = 0x40000000, /* IMAGE_SCN_MEM_READ */
	SECTION_WRITE = 0x80000000,
};

/* A part of an image, or memory without a file that belongs to it: path is "" then. */
static void part_add(struct sw_minidump_filler *f, uint64_t start_avma, uint64_t end_avma,
		     uint32_t prot, const char *path, uint64_t file_off, int32_t place)
{
	sw_minidump_map_add(f, &(struct sw_map){.start_avma = start_avma,
						.end_avma = end_avma,
						.prot = prot,
						.path = path,
						.file_off = file_off,
						.place = place});
}

static uint32_t section_prot(const struct sw_pe_section *s)
{
	return (s->flags & SECTION_READ ? SW_MAP_READ : 0u) |
	       (s->flags & SECTION_WRITE ? SW_MAP_WRITE : 0u) |
	       (s->flags & SW_PE_SECTION_EXECUTE ? SW_MAP_EXEC : 0u);
}

/* The maps that the header tells; the end of a section that the file does not have is no file's. */
static void sections_add(struct sw_minidump_filler *f, const struct sw_minidump_module *m,
			 const struct sw_pe_image *image, int32_t place)
{
	uint64_t at = m->start_avma + image->header_bytes;
	part_add(f, m->start_avma, at < m->end_avma ? at : m->end_avma, SW_MAP_READ, m->path, 0,
		 place);
	for (size_t i = 0; i < image->n_sections; i++) {
		const struct sw_pe_section *s = &image->sections[i];
		uint64_t start = m->start_avma + s->rva, end = start + s->bytes;
		uint64_t file_end = start + (s->bytes < s->file_bytes ? s->bytes : s->file_bytes);
		end = (end + PAGE - 1) & -(uint64_t) PAGE;
		if (end > m->end_avma)
			end = m->end_avma;
		if (file_end > end)
			file_end = end;
		if (start < at)
			continue; /* only in a hostile image */
		part_add(f, start, file_end, section_prot(s), m->path, s->file_off, place);
		part_add(f, file_end, end, section_prot(s), "", 0, place);
		at = end;
	}
}

/* The headers by the dump's own memory, or else by the file. */
static bool headers_read(struct sw_minidump_filler *f, const struct sw_minidump_module *m,
			 struct sw_module *module, struct sw_pe_image *ret)
{
	struct sw_snapshot_memory memory = {.snap = f->snap};
	struct sw_bytes file = {0};
	if (sw_pe_image_read(sw_snapshot_memory(&memory), m->start_avma, ret))
		return true;
	file.data = sw_module_image(module, &file.size);
	return file.data != NULL && sw_pe_image_parse(file, ret);
}

static int module_open(struct sw_minidump_filler *f, const struct sw_minidump_module *m,
		       struct sw_module **ret)
{
	struct sw_snapshot *snap = f->snap;
	struct sw_snapshot_memory memory = {.snap = snap};
	size_t size = 0;
	bool other;
	sw_cleanup(sw_close_p) int fd = sw_minidump_image_open(f->images, m, &other);
	struct stat st;
	if (fd >= 0 && fstat(fd, &st) == 0)
		return sw_context_module_file(snap->ctx, SW_MODULE_PE, m->path, false,
					      sw_take_fd(fd), &st, ret);
	uint8_t *image = sw_pe_image_from_memory(sw_snapshot_memory(&memory), m->start_avma,
						 sw_snapshot_image_max(snap), &size);
	snap->priv->image_bytes += size;
	if (image != NULL)
		return sw_context_module_memory(snap->ctx, SW_MODULE_PE, m->path, false, image,
						size, NULL, ret);
	sw_minidump_missing(f, m, other);
	return sw_context_module(snap->ctx, SW_MODULE_PE, m->path, -EBADF, m->build_id,
				 m->build_id_bytes, ret, NULL) < 0
		       ? -SW_E_NOMEM
		       : 0;
}

static int modules_set(struct sw_minidump_filler *f)
{
	const struct sw_minidump *md = &f->md;
	struct sw_snapshot *snap = f->snap;
	for (size_t i = 0; i < md->n_modules; i++) {
		const struct sw_minidump_module *m = &md->modules[i];
		struct sw_place *place = &snap->places[snap->n_places];
		struct sw_pe_image image;
		*place = (struct sw_place){.start_avma = m->start_avma, .end_avma = m->end_avma};
		int r = module_open(f, m, &place->module);
		if (r < 0)
			return r;
		if (headers_read(f, m, place->module, &image))
			sections_add(f, m, &image, (int32_t) snap->n_places);
		else
			part_add(f, m->start_avma, m->end_avma, SW_MAP_READ | SW_MAP_EXEC, m->path,
				 0, (int32_t) snap->n_places);
		snap->n_places++;
	}
	return 0;
}

static int maps_set(struct sw_minidump_filler *f)
{
	const struct sw_minidump *md = &f->md;
	struct sw_snapshot *snap = f->snap;
	struct sw_arena *arena = &snap->priv->arena;
	const bool has_regions = md->n_regions > 0;
	size_t outside = has_regions ? md->n_regions : snap->priv->n_copies;
	const size_t of_modules = md->n_modules * (2 + 2 * SW_PE_SECTIONS_MAX);
	f->maps_capacity = outside + md->n_modules; /* each module cuts one stretch in two */
	snap->maps = sw_arena_calloc(arena, f->maps_capacity + of_modules, sizeof(*snap->maps));
	snap->places = sw_arena_calloc(arena, md->n_modules, sizeof(*snap->places));
	if (snap->maps == NULL || snap->places == NULL)
		return -SW_E_NOMEM;
	for (size_t i = 0; has_regions && i < outside; i++)
		sw_minidump_outside_add(f, md->regions[i].start_avma, md->regions[i].end_avma,
					md->regions[i].prot);
	if (!has_regions)
		sw_minidump_copies_add(f);
	f->maps_capacity += of_modules;
	return modules_set(f);
}

/* Source: Microsoft, "EXCEPTION_RECORD structure (winnt.h)": details of an access violation. */
static enum sw_access_kind access_of(uint64_t detail)
{
	switch (detail) {
	case 0: return SW_ACCESS_READ;
	case 1: return SW_ACCESS_WRITE;
	case 8: return SW_ACCESS_EXECUTE;
	default: return SW_ACCESS_UNKNOWN;
	}
}

static void crash_set(struct sw_minidump_filler *f)
{
	enum {
		ACCESS_VIOLATION = 0xc0000005,
		IN_PAGE_ERROR = 0xc0000006,
		STACK_OVERFLOW = 0xc00000fd
	};
	const struct sw_minidump_exception *e = &f->md.exception;
	if (!f->md.has_exception || e->code == 0 || e->thread == 0 || e->thread > INT32_MAX)
		return;
	struct sw_crash *crash = &f->snap->crash;
	*crash = (struct sw_crash){.exception = e->code,
				   .tid = (pid_t) e->thread,
				   .has_address = true,
				   .address_avma = e->at_avma,
				   .stack_overflow = e->code == STACK_OVERFLOW};
	if ((e->code == ACCESS_VIOLATION || e->code == IN_PAGE_ERROR) && e->n_details >= 2) {
		crash->access = access_of(e->details[0]);
		crash->address_avma = e->details[1];
	}
}

int sw_minidump_windows_fill(struct sw_minidump_filler *f)
{
	int r = maps_set(f);
	if (r < 0)
		return r;
	sw_snapshot_index(f->snap);
	crash_set(f);
	return 0;
}
