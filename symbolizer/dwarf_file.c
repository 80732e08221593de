/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "dwarf_file.h"
#include "cleanup.h"
#include "debugfile.h"
#include "dwarf/plan.h"
#include "elf_handle.h"
#include "map.h"
#include "unpacked/file.h"

#include <sys/mman.h>

static void put(uint8_t *header, size_t field, uint64_t value, size_t bytes)
{
	memcpy(header + field, &value, bytes); /* little-endian only, as the ELF view */
}

/* Where the fields that are changed lie in the headers, and how large addresses and sizes are. */
struct layout {
	size_t header_bytes, word_bytes;
	size_t e_phnum, e_phoff;
	size_t sh_type, sh_flags, sh_offset, sh_size, sh_addralign, sh_entsize;
};

static const struct layout layout_64 = {
	.header_bytes = sizeof(Elf64_Shdr),
	.word_bytes = sizeof(uint64_t),
	.e_phnum = offsetof(Elf64_Ehdr, e_phnum),
	.e_phoff = offsetof(Elf64_Ehdr, e_phoff),
	.sh_type = offsetof(Elf64_Shdr, sh_type),
	.sh_flags = offsetof(Elf64_Shdr, sh_flags),
	.sh_offset = offsetof(Elf64_Shdr, sh_offset),
	.sh_size = offsetof(Elf64_Shdr, sh_size),
	.sh_addralign = offsetof(Elf64_Shdr, sh_addralign),
	.sh_entsize = offsetof(Elf64_Shdr, sh_entsize),
};

static const struct layout layout_32 = {
	.header_bytes = sizeof(Elf32_Shdr),
	.word_bytes = sizeof(uint32_t),
	.e_phnum = offsetof(Elf32_Ehdr, e_phnum),
	.e_phoff = offsetof(Elf32_Ehdr, e_phoff),
	.sh_type = offsetof(Elf32_Shdr, sh_type),
	.sh_flags = offsetof(Elf32_Shdr, sh_flags),
	.sh_offset = offsetof(Elf32_Shdr, sh_offset),
	.sh_size = offsetof(Elf32_Shdr, sh_size),
	.sh_addralign = offsetof(Elf32_Shdr, sh_addralign),
	.sh_entsize = offsetof(Elf32_Shdr, sh_entsize),
};

/* Shows libelf only what is wanted. The names of sections stay; whatever else there is becomes an
 * empty NOBITS section, which libdw skips. */
static void headers_edit(uint8_t *region, const struct sw_elf *elf,
			 const struct sw_dwarf_plan *plan)
{
	const struct layout *l = elf->is_32bit ? &layout_32 : &layout_64;
	uint64_t names_off = (uint64_t) (elf->section_names.data - elf->image.data);
	put(region, l->e_phnum, 0, sizeof(uint16_t));
	put(region, l->e_phoff, 0, l->word_bytes);
	for (uint32_t i = 1; i < elf->n_sections; i++) {
		uint8_t *header = region + elf->header.e_shoff + i * l->header_bytes;
		uint64_t off = 0;
		memcpy(&off, header + l->sh_offset, l->word_bytes);
		if (off == names_off)
			continue;
		put(header, l->sh_type, SHT_NOBITS, sizeof(uint32_t));
		put(header, l->sh_flags, 0, l->word_bytes);
		put(header, l->sh_size, 0, l->word_bytes);
	}
	for (size_t k = 0; k < SW_DWARF_SECTIONS; k++) {
		const struct sw_dwarf_wanted *w = &plan->wanted[k];
		if (w->section.type == SHT_NULL)
			continue;
		uint8_t *header = region + elf->header.e_shoff + w->section.index * l->header_bytes;
		put(header, l->sh_type, SHT_PROGBITS, sizeof(uint32_t));
		put(header, l->sh_offset, w->off, l->word_bytes);
		put(header, l->sh_size, w->bytes, l->word_bytes);
		put(header, l->sh_addralign, 1, l->word_bytes);
		put(header, l->sh_entsize, 0, l->word_bytes);
		if (w->renamed) /* one byte shorter than what is there */
			strcpy((char *) region +
				       ((const uint8_t *) w->section.name - elf->image.data),
			       sw_dwarf_section_names[k]);
	}
}

/* .gnu_debugaltlink: a path with NUL, then the build-id of the file (DWARF 5, 7.3.6; dwz(1)). The
 * path counts only for what follows "/.dwz/": a file may not make us open what it names. */
static bool alt_find(const struct sw_elf *elf, const struct sw_request *request,
		     struct sw_image *image, struct sw_elf *alt, const char **ret_why)
{
	const char *debug_dir = request->debug_dir;
	struct sw_elf_section section;
	struct sw_bytes bytes, id, found;
	const char *name;
	*ret_why = "its link to the file to which dwz moved names is malformed";
	if (!sw_elf_section_named(elf, ".gnu_debugaltlink", &section) ||
	    !sw_elf_section_bytes(elf, &section, &bytes) || !sw_bytes_str(bytes, 0, &name) ||
	    !sw_bytes_sub(bytes, strlen(name) + 1, bytes.size - strlen(name) - 1, &id))
		return false;
	if (sw_debugfile_by_build_id(request, id, image, alt))
		return true;
	const char *below = strstr(name, "/.dwz/");
	bool is_below = below != NULL && strstr(below, "/../") == NULL;
	if (is_below && sw_image_map(image, request, debug_dir, below + 1)) {
		if (sw_elf_init(alt, image->bytes) && sw_elf_build_id(alt, &found) &&
		    found.size == id.size && memcmp(found.data, id.data, id.size) == 0)
			return true;
		sw_image_deinit(image);
	}
	*ret_why =
		is_below ? "the file to which dwz moved names was not found"
			 : "the file to which dwz moved names is not below /usr/lib/debug, and is "
			   "not opened elsewhere: name its directory to snapwalk symbolize --from";
	return request->search != NULL &&
	       request->search->find(request->search, id, image, alt, false);
}

static enum sw_dwarf_open alt_open(struct sw_dwarf_file *file, const struct sw_elf *elf,
				   const struct sw_request *request);

/* Where the sections are behind the file: what was unpacked by another release may be of another order. */
static uint64_t layout_of(const struct sw_elf *elf, const struct sw_dwarf_plan *plan)
{
	uint64_t behind = sw_dwarf_plan_behind(elf), hash = plan->region_bytes - behind;
	for (size_t k = 0; k < SW_DWARF_SECTIONS; k++) {
		const struct sw_dwarf_wanted *w = &plan->wanted[k];
		if (w->how == SW_DWARF_STORED)
			continue;
		hash = sw_mix64(hash ^ k);
		hash = sw_mix64(hash ^ (w->off - behind));
		hash = sw_mix64(hash ^ w->bytes);
	}
	return hash;
}

bool sw_dwarf_file_key(const struct sw_dwarf_file *file, int fd, const struct sw_elf *elf,
		       struct sw_unpacked_key *ret)
{
	*ret = (struct sw_unpacked_key){.layout = file->layout, .bytes = file->unpacked.size};
	return sw_elf_build_id(elf, &ret->build_id) && fstat(fd, &ret->of) == 0;
}

/* Whether the sections were unpacked before, and are mapped now. */
static bool is_kept(struct sw_dwarf_file *file, int fd, const struct sw_elf *elf,
		    struct sw_unpacked *unpacked)
{
	struct sw_unpacked_key key;
	if (unpacked == NULL || !sw_dwarf_file_key(file, fd, elf, &key) ||
	    !sw_unpacked_may(unpacked, &key))
		return false;
	if (sw_unpacked_map(unpacked, &key, (void *) file->unpacked.data))
		return true;
	sw_unpacked_ask(unpacked, &key);
	return false;
}

static enum sw_dwarf_open sections_inflate(struct sw_dwarf_file *file,
					   const struct sw_dwarf_plan *plan, int64_t deadline_ns)
{
	if (sw_dwarf_plan_late(plan, deadline_ns)) {
		file->why = "the time limit leaves too little to unpack its debug information";
		return SW_DWARF_LATE;
	}
	return sw_dwarf_plan_inflate(plan, file->region, deadline_ns, &file->why);
}

static void section_bytes(const struct sw_dwarf_file *file, const struct sw_dwarf_plan *plan,
			  enum sw_dwarf_which which, struct sw_bytes *ret)
{
	const struct sw_dwarf_wanted *w = &plan->wanted[which];
	if (w->section.type != SHT_NULL)
		*ret = (struct sw_bytes){file->region + w->off, w->bytes};
}

static enum sw_dwarf_open file_fill(struct sw_dwarf_file *file, int fd, const struct sw_elf *elf,
				    const struct sw_dwarf_plan *plan,
				    const struct sw_request *request)
{
	file->region_bytes = plan->region_bytes;
	file->region = sw_dwarf_plan_map(plan, fd, elf);
	if (file->region == NULL)
		return SW_DWARF_NONE;
	headers_edit(file->region, elf, plan);
	uint64_t behind = sw_dwarf_plan_behind(elf);
	file->unpacked = (struct sw_bytes){file->region + behind, plan->region_bytes - behind};
	file->layout = layout_of(elf, plan);
	if (!is_kept(file, fd, elf, request->unpacked)) {
		enum sw_dwarf_open r = sections_inflate(file, plan, request->deadline_ns);
		if (r != SW_DWARF_OPENED)
			return r;
	}
	section_bytes(file, plan, SW_DWARF_ARANGES, &file->aranges);
	section_bytes(file, plan, SW_DWARF_ADDR, &file->addr);
	section_bytes(file, plan, SW_DWARF_RANGES, &file->ranges);
	file->elf = sw_elf_handle((struct sw_bytes){file->region, file->region_bytes});
	if (file->elf == NULL)
		return SW_DWARF_NONE;
	file->dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
	return file->dwarf != NULL ? alt_open(file, elf, request) : SW_DWARF_NONE;
}

enum sw_dwarf_open sw_dwarf_file_open(struct sw_dwarf_file *file, int fd, const struct sw_elf *elf,
				      const struct sw_request *request)
{
	struct sw_dwarf_plan plan;
	struct sw_elf_section relocations;
	uint16_t type = elf->header.e_type;
	*file = (struct sw_dwarf_file){0};
	file->why = "its file cannot be read";
	if (fd < 0)
		return SW_DWARF_NONE;
	file->why = "its debug information is that of an object file";
	/* Object files and kernel modules would need their relocations applied. dwz's shared files are
	 * of the same type, without any. */
	if (type == ET_REL && (sw_elf_section_typed(elf, SHT_RELA, &relocations) ||
			       sw_elf_section_typed(elf, SHT_REL, &relocations)))
		return SW_DWARF_NONE;
	if (type != ET_EXEC && type != ET_DYN && type != ET_REL)
		return SW_DWARF_NONE;
	bool planned = sw_dwarf_plan_make(&plan, elf, false);
	file->why = plan.why;
	if (!planned)
		return SW_DWARF_NONE;
	enum sw_dwarf_open r = file_fill(file, fd, elf, &plan, request);
	if (r != SW_DWARF_OPENED)
		sw_dwarf_file_close(file);
	return r;
}

/* Without its alt file a file is still worth having: only shared names are missing. */
static enum sw_dwarf_open alt_open(struct sw_dwarf_file *file, const struct sw_elf *elf,
				   const struct sw_request *request)
{
	struct sw_image image = {0};
	struct sw_elf alt;
	enum sw_dwarf_open r = SW_DWARF_OPENED;
	struct sw_elf_section link;
	const char *why;
	if (!alt_find(elf, request, &image, &alt, &why)) {
		if (sw_elf_section_named(elf, ".gnu_debugaltlink", &link))
			file->why = why;
		return r;
	}
	file->alt = calloc(1, sizeof(*file->alt));
	/* An alt file has no alt file: dwz makes one level, and a loop must not be followed. */
	if (file->alt != NULL && !sw_elf_section_named(&alt, ".gnu_debugaltlink", &link) &&
	    sw_dwarf_file_open(file->alt, image.fd, &alt, request) == SW_DWARF_OPENED)
		dwarf_setalt(file->dwarf, file->alt->dwarf);
	sw_image_deinit(&image);
	return r;
}

void sw_dwarf_file_close(struct sw_dwarf_file *file)
{
	/* Counts and results are of no use: everything is ours and goes away. */
	if (file->dwarf != NULL)
		(void) dwarf_end(file->dwarf);
	if (file->elf != NULL)
		(void) elf_end(file->elf);
	if (file->alt != NULL)
		sw_dwarf_file_close(file->alt);
	free(file->alt);
	if (file->region != NULL)
		(void) munmap(file->region, file->region_bytes);
	*file = (struct sw_dwarf_file){.why = file->why};
}
