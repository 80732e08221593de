/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "dwarf_file.h"
#include "cleanup.h"
#include "deadline.h"
#include "debugfile.h"
#include "elf_handle.h"
#include "map.h"
#include "unpacked/file.h"

#include <endian.h>
#include <libdeflate.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <zstd.h>

enum {
	PAGE_BYTES = 4096,
	INFLATE_BYTES_PER_US =
		200,              /* a slow machine's rate; to know before what cannot be in time */
	DEFLATE_RATIO_MAX = 1032, /* RFC 1951 cannot do better: more is a lie in the header */
	ZSTD_RATIO_MAX = 1 << 16, /* RFC 8878: a block of 128 KiB has a header of 3 bytes */
	ZDEBUG_HEADER_BYTES = 12,
	ELFCOMPRESS_ZSTD_ = 2, /* gABI 4.3, since 2022; elf.h of glibc 2.36 does not have it */
};
static const uint64_t INFLATED_BYTES_MAX = UINT64_C(2) << 30; /* of one file */

/* All that lines and inlined calls need. Not here, though libdw would load them: locations, macros,
 * types by signature, names, frames. .gnu_debugaltlink neither: libdw would open a file of that
 * name on its own. */
static const char *const wanted_names[] = {
	".debug_info",     ".debug_abbrev", ".debug_line",    ".debug_str",  ".debug_line_str",
	".debug_rnglists", ".debug_ranges", ".debug_aranges", ".debug_addr", ".debug_str_offsets",
};
enum { WANTED_INFO = 0, WANTED_ABBREV = 1, WANTED_ARANGES = 7 };

struct wanted {
	struct sw_elf_section section; /* type SHT_NULL: the file lacks it */
	enum { STORED, DEFLATED, ZSTD } how;
	bool renamed;         /* ".zdebug_info" */
	struct sw_bytes from; /* compressed: the stream */
	uint64_t off, bytes;  /* in the region */
};

struct plan {
	struct wanted wanted[SW_ARRAY_SIZE(wanted_names)];
	uint64_t inflated_bytes;
	uint64_t region_bytes;
	const char *why; /* static: it cannot be used; NULL: there is none */
};

static uint64_t page_up(uint64_t bytes)
{
	return (bytes + PAGE_BYTES - 1) & ~(uint64_t) (PAGE_BYTES - 1);
}

/* Reads the compression header (gABI 4.3, "Section Compression"). */
static bool header_read(struct wanted *w, struct sw_bytes bytes)
{
	uint32_t type;
	if (!sw_bytes_u32(bytes, offsetof(Elf64_Chdr, ch_type), &type) ||
	    (type != ELFCOMPRESS_ZLIB && type != ELFCOMPRESS_ZSTD_) ||
	    !sw_bytes_u64(bytes, offsetof(Elf64_Chdr, ch_size), &w->bytes))
		return false;
	w->how = type == ELFCOMPRESS_ZLIB ? DEFLATED : ZSTD;
	return sw_bytes_sub(bytes, sizeof(Elf64_Chdr), bytes.size - sizeof(Elf64_Chdr), &w->from);
}

/* "ZLIB" and a big-endian size: binutils before there were flags, and gcc -gz=zlib-gnu. */
static bool zdebug_read(struct wanted *w, struct sw_bytes bytes)
{
	if (!sw_bytes_has(bytes, 0, ZDEBUG_HEADER_BYTES) || memcmp(bytes.data, "ZLIB", 4) != 0 ||
	    !sw_bytes_u64(bytes, 4, &w->bytes))
		return false;
	w->bytes = be64toh(w->bytes);
	w->how = DEFLATED;
	w->renamed = true;
	return sw_bytes_sub(bytes, ZDEBUG_HEADER_BYTES, bytes.size - ZDEBUG_HEADER_BYTES, &w->from);
}

static bool plan_compressed(struct plan *plan, struct wanted *w, struct sw_bytes bytes, bool zdebug)
{
	plan->why = "its debug information is compressed in a way that is not known";
	if (!(zdebug ? zdebug_read(w, bytes) : header_read(w, bytes)))
		return false;
	plan->why = "its debug information is damaged, or too much";
	uint64_t ratio_max = w->how == ZSTD ? ZSTD_RATIO_MAX : DEFLATE_RATIO_MAX;
	if (w->bytes > INFLATED_BYTES_MAX - plan->inflated_bytes ||
	    w->bytes / ratio_max > w->from.size)
		return false;
	plan->why = NULL;
	w->off = plan->region_bytes;
	plan->inflated_bytes += w->bytes;
	plan->region_bytes += page_up(w->bytes);
	return true;
}

/* Which of the wanted sections it is; SW_ARRAY_SIZE(wanted_names): none. */
static size_t wanted_index(const char *name, bool *ret_zdebug)
{
	size_t k = 0;
	*ret_zdebug = strncmp(name, ".zdebug_", 8) == 0;
	if (!*ret_zdebug && strncmp(name, ".debug_", 7) != 0)
		return SW_ARRAY_SIZE(wanted_names);
	while (k < SW_ARRAY_SIZE(wanted_names) &&
	       strcmp(name + 1 + *ret_zdebug, wanted_names[k] + 1) != 0)
		k++;
	return k;
}

/* Finds the sections and gives each compressed one its place behind the file. */
static bool plan_make(struct plan *plan, const struct sw_elf *elf)
{
	*plan = (struct plan){.region_bytes = page_up(elf->image.size)};
	for (uint32_t i = 1; i < elf->n_sections; i++) {
		struct sw_elf_section section;
		struct sw_bytes bytes;
		bool zdebug;
		if (!sw_elf_section(elf, i, &section))
			continue;
		size_t k = wanted_index(section.name, &zdebug);
		if (k == SW_ARRAY_SIZE(wanted_names) || plan->wanted[k].section.type != SHT_NULL ||
		    !sw_elf_section_bytes(elf, &section, &bytes))
			continue;
		struct wanted *w = &plan->wanted[k];
		w->off = section.off;
		w->bytes = section.size;
		if ((zdebug || (section.flags & SHF_COMPRESSED)) &&
		    !plan_compressed(plan, w, bytes, zdebug))
			return false;
		w->section = section;
	}
	plan->region_bytes += PAGE_BYTES;
	return plan->wanted[WANTED_INFO].section.type != SHT_NULL &&
	       plan->wanted[WANTED_ABBREV].section.type != SHT_NULL;
}

static bool region_map(struct sw_dwarf_file *file, int fd, const struct sw_elf *elf,
		       const struct plan *plan)
{
	struct stat st;
	if (fstat(fd, &st) < 0 || (uint64_t) st.st_size != elf->image.size)
		return false;
	void *p = mmap(NULL, plan->region_bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return false;
	file->region = p;
	file->region_bytes = plan->region_bytes;
	return mmap(p, elf->image.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0) ==
	       p;
}

static bool inflate(const struct wanted *w, uint8_t *to)
{
	if (w->how == ZSTD)
		return ZSTD_decompress(to, w->bytes, w->from.data, w->from.size) == w->bytes;
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	if (d == NULL)
		return false;
	enum libdeflate_result r =
		libdeflate_zlib_decompress(d, w->from.data, w->from.size, to, w->bytes, NULL);
	libdeflate_free_decompressor(d);
	return r == LIBDEFLATE_SUCCESS;
}

static void put(uint8_t *header, size_t field, uint64_t value, size_t bytes)
{
	memcpy(header + field, &value, bytes); /* little-endian only, as the ELF view */
}

/* Shows libelf only what is wanted. The names of sections stay; whatever else there is becomes an
 * empty NOBITS section, which libdw skips. */
static void headers_edit(uint8_t *region, const struct sw_elf *elf, const struct plan *plan)
{
	uint64_t names_off = (uint64_t) (elf->section_names.data - elf->image.data);
	put(region, offsetof(Elf64_Ehdr, e_phnum), 0, sizeof(uint16_t));
	put(region, offsetof(Elf64_Ehdr, e_phoff), 0, sizeof(uint64_t));
	for (uint32_t i = 1; i < elf->n_sections; i++) {
		uint8_t *header = region + elf->header.e_shoff + (uint64_t) i * sizeof(Elf64_Shdr);
		uint64_t off;
		memcpy(&off, header + offsetof(Elf64_Shdr, sh_offset), sizeof(off));
		if (off == names_off)
			continue;
		put(header, offsetof(Elf64_Shdr, sh_type), SHT_NOBITS, sizeof(uint32_t));
		put(header, offsetof(Elf64_Shdr, sh_flags), 0, sizeof(uint64_t));
		put(header, offsetof(Elf64_Shdr, sh_size), 0, sizeof(uint64_t));
	}
	for (size_t k = 0; k < SW_ARRAY_SIZE(plan->wanted); k++) {
		const struct wanted *w = &plan->wanted[k];
		if (w->section.type == SHT_NULL)
			continue;
		uint8_t *header = region + elf->header.e_shoff +
				  (uint64_t) w->section.index * sizeof(Elf64_Shdr);
		put(header, offsetof(Elf64_Shdr, sh_type), SHT_PROGBITS, sizeof(uint32_t));
		put(header, offsetof(Elf64_Shdr, sh_offset), w->off, sizeof(uint64_t));
		put(header, offsetof(Elf64_Shdr, sh_size), w->bytes, sizeof(uint64_t));
		put(header, offsetof(Elf64_Shdr, sh_addralign), 1, sizeof(uint64_t));
		put(header, offsetof(Elf64_Shdr, sh_entsize), 0, sizeof(uint64_t));
		if (w->renamed) /* one byte shorter than what is there */
			strcpy((char *) region +
				       ((const uint8_t *) w->section.name - elf->image.data),
			       wanted_names[k]);
	}
}

/* .gnu_debugaltlink: a path with NUL, then the build-id of the file (DWARF 5, 7.3.6; dwz(1)). The
 * path counts only for what follows "/.dwz/": a file may not make us open what it names. */
static bool alt_find(const struct sw_elf *elf, const char *debug_dir, struct sw_image *image,
		     struct sw_elf *alt)
{
	struct sw_elf_section section;
	struct sw_bytes bytes, id, found;
	const char *name;
	if (!sw_elf_section_named(elf, ".gnu_debugaltlink", &section) ||
	    !sw_elf_section_bytes(elf, &section, &bytes) || !sw_bytes_str(bytes, 0, &name) ||
	    !sw_bytes_sub(bytes, strlen(name) + 1, bytes.size - strlen(name) - 1, &id))
		return false;
	if (sw_debugfile_by_build_id(debug_dir, id, image, alt))
		return true;
	const char *below = strstr(name, "/.dwz/");
	if (below == NULL || strstr(below, "/../") != NULL ||
	    !sw_image_map(image, debug_dir, below + 1))
		return false;
	if (sw_elf_init(alt, image->bytes) && sw_elf_build_id(alt, &found) &&
	    found.size == id.size && memcmp(found.data, id.data, id.size) == 0)
		return true;
	sw_image_deinit(image);
	return false;
}

static enum sw_dwarf_open alt_open(struct sw_dwarf_file *file, const struct sw_elf *elf,
				   const struct sw_request *request);

/* Where the sections are behind the file: what was unpacked by another release may be of another order. */
static uint64_t layout_of(const struct sw_elf *elf, const struct plan *plan)
{
	uint64_t behind = page_up(elf->image.size), hash = plan->region_bytes - behind;
	for (size_t k = 0; k < SW_ARRAY_SIZE(plan->wanted); k++) {
		const struct wanted *w = &plan->wanted[k];
		if (w->how == STORED)
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

static enum sw_dwarf_open sections_inflate(struct sw_dwarf_file *file, const struct plan *plan,
					   const struct sw_request *request)
{
	int64_t inflate_ns = (int64_t) (plan->inflated_bytes / INFLATE_BYTES_PER_US) * 1000;
	if (request->deadline_ns != 0 && sw_clock_ns() + inflate_ns > request->deadline_ns) {
		file->why = "the time limit leaves too little to unpack its debug information";
		return SW_DWARF_LATE;
	}
	for (size_t k = 0; k < SW_ARRAY_SIZE(plan->wanted); k++) {
		const struct wanted *w = &plan->wanted[k];
		if (w->how == STORED)
			continue;
		if (sw_deadline_passed(request->deadline_ns))
			return SW_DWARF_LATE;
		file->why = "its debug information is damaged, or too much";
		if (!inflate(w, file->region + w->off))
			return SW_DWARF_NONE;
		file->why = NULL;
	}
	return SW_DWARF_OPENED;
}

static enum sw_dwarf_open file_fill(struct sw_dwarf_file *file, int fd, const struct sw_elf *elf,
				    const struct plan *plan, const struct sw_request *request)
{
	uint64_t behind = page_up(elf->image.size);
	if (!region_map(file, fd, elf, plan))
		return SW_DWARF_NONE;
	headers_edit(file->region, elf, plan);
	file->unpacked = (struct sw_bytes){file->region + behind, plan->region_bytes - behind};
	file->layout = layout_of(elf, plan);
	if (!is_kept(file, fd, elf, request->unpacked)) {
		enum sw_dwarf_open r = sections_inflate(file, plan, request);
		if (r != SW_DWARF_OPENED)
			return r;
	}
	const struct wanted *aranges = &plan->wanted[WANTED_ARANGES];
	if (aranges->section.type != SHT_NULL)
		file->aranges = (struct sw_bytes){file->region + aranges->off, aranges->bytes};
	file->elf = sw_elf_handle((struct sw_bytes){file->region, file->region_bytes});
	if (file->elf == NULL)
		return SW_DWARF_NONE;
	file->dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
	return file->dwarf != NULL ? alt_open(file, elf, request) : SW_DWARF_NONE;
}

enum sw_dwarf_open sw_dwarf_file_open(struct sw_dwarf_file *file, int fd, const struct sw_elf *elf,
				      const struct sw_request *request)
{
	struct plan plan;
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
	bool planned = plan_make(&plan, elf);
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
	if (!alt_find(elf, request->debug_dir, &image, &alt)) {
		if (sw_elf_section_named(elf, ".gnu_debugaltlink", &link))
			file->why = "the file to which dwz moved names was not found";
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
