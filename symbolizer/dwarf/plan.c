/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "dwarf/plan.h"
#include "cleanup.h"
#include "dwarf/deadline.h"

#include <endian.h>
#include <libdeflate.h>
#include <snapwalk/clock.h>
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
const char *const sw_dwarf_section_names[SW_DWARF_SECTIONS] = {
	".debug_info",     ".debug_abbrev", ".debug_line",    ".debug_str",  ".debug_line_str",
	".debug_rnglists", ".debug_ranges", ".debug_aranges", ".debug_addr", ".debug_str_offsets",
};
static uint64_t page_up(uint64_t bytes)
{
	return (bytes + PAGE_BYTES - 1) & ~(uint64_t) (PAGE_BYTES - 1);
}

uint64_t sw_dwarf_plan_behind(const struct sw_elf *elf)
{
	return page_up(elf->image.size);
}

/* Reads the compression header (gABI 4.3, "Section Compression"). */
static bool header_read(struct sw_dwarf_wanted *w, struct sw_bytes bytes, bool is_32bit)
{
	uint32_t type, size;
	size_t header_bytes = is_32bit ? sizeof(Elf32_Chdr) : sizeof(Elf64_Chdr);
	if (!sw_bytes_u32(bytes, offsetof(Elf64_Chdr, ch_type), &type) ||
	    (type != ELFCOMPRESS_ZLIB && type != ELFCOMPRESS_ZSTD_))
		return false;
	if (is_32bit) {
		if (!sw_bytes_u32(bytes, offsetof(Elf32_Chdr, ch_size), &size))
			return false;
		w->bytes = size;
	} else if (!sw_bytes_u64(bytes, offsetof(Elf64_Chdr, ch_size), &w->bytes)) {
		return false;
	}
	w->how = type == ELFCOMPRESS_ZLIB ? SW_DWARF_DEFLATED : SW_DWARF_ZSTD;
	return sw_bytes_has(bytes, 0, header_bytes) &&
	       sw_bytes_sub(bytes, header_bytes, bytes.size - header_bytes, &w->from);
}

/* "ZLIB" and a big-endian size: binutils before there were flags, and gcc -gz=zlib-gnu. */
static bool zdebug_read(struct sw_dwarf_wanted *w, struct sw_bytes bytes)
{
	if (!sw_bytes_has(bytes, 0, ZDEBUG_HEADER_BYTES) || memcmp(bytes.data, "ZLIB", 4) != 0 ||
	    !sw_bytes_u64(bytes, 4, &w->bytes))
		return false;
	w->bytes = be64toh(w->bytes);
	w->how = SW_DWARF_DEFLATED;
	w->renamed = true;
	return sw_bytes_sub(bytes, ZDEBUG_HEADER_BYTES, bytes.size - ZDEBUG_HEADER_BYTES, &w->from);
}

static bool plan_compressed(struct sw_dwarf_plan *plan, struct sw_dwarf_wanted *w,
			    struct sw_bytes bytes, bool zdebug, bool is_32bit)
{
	plan->why = "its debug information is compressed in a way that is not known";
	if (!(zdebug ? zdebug_read(w, bytes) : header_read(w, bytes, is_32bit)))
		return false;
	plan->why = "its debug information is damaged, or too much";
	uint64_t ratio_max = w->how == SW_DWARF_ZSTD ? ZSTD_RATIO_MAX : DEFLATE_RATIO_MAX;
	if (w->bytes > INFLATED_BYTES_MAX - plan->inflated_bytes ||
	    w->bytes / ratio_max > w->from.size)
		return false;
	plan->why = NULL;
	w->off = plan->region_bytes;
	plan->inflated_bytes += w->bytes;
	plan->region_bytes += page_up(w->bytes);
	return true;
}

/* Which of the wanted sections it is; SW_DWARF_SECTIONS: none. */
static size_t wanted_index(const char *name, bool split, bool *ret_zdebug)
{
	*ret_zdebug = strncmp(name, ".zdebug_", 8) == 0;
	if (!*ret_zdebug && strncmp(name, ".debug_", 7) != 0)
		return SW_DWARF_SECTIONS;
	for (size_t k = 0; k < SW_DWARF_SECTIONS; k++) {
		size_t bytes = strlen(sw_dwarf_section_names[k] + 1);
		const char *plain = name + 1 + *ret_zdebug;
		if (strncmp(plain, sw_dwarf_section_names[k] + 1, bytes) == 0 &&
		    strcmp(plain + bytes, split ? ".dwo" : "") == 0)
			return k;
	}
	return SW_DWARF_SECTIONS;
}

/* Finds the sections and gives each compressed one its place behind the file. */
bool sw_dwarf_plan_make(struct sw_dwarf_plan *plan, const struct sw_elf *elf, bool split)
{
	*plan = (struct sw_dwarf_plan){.region_bytes = page_up(elf->image.size)};
	for (uint32_t i = 1; i < elf->n_sections; i++) {
		struct sw_elf_section section;
		struct sw_bytes bytes;
		bool zdebug;
		if (!sw_elf_section(elf, i, &section))
			continue;
		size_t k = wanted_index(section.name, split, &zdebug);
		/* gcc -fdebug-types-section gives each type a .debug_info.dwo of its own, before that of
		 * the unit. */
		if (k == SW_DWARF_SECTIONS ||
		    (plan->wanted[k].section.type != SHT_NULL && !(split && k == SW_DWARF_INFO)) ||
		    !sw_elf_section_bytes(elf, &section, &bytes))
			continue;
		struct sw_dwarf_wanted *w = &plan->wanted[k];
		w->how = SW_DWARF_STORED;
		w->off = section.off;
		w->bytes = section.size;
		if ((zdebug || (section.flags & SHF_COMPRESSED)) &&
		    !plan_compressed(plan, w, bytes, zdebug, elf->is_32bit))
			return false;
		w->section = section;
		w->part_bytes = w->bytes;
	}
	plan->region_bytes += PAGE_BYTES;
	return plan->wanted[SW_DWARF_INFO].section.type != SHT_NULL &&
	       plan->wanted[SW_DWARF_ABBREV].section.type != SHT_NULL;
}

bool sw_dwarf_plan_late(const struct sw_dwarf_plan *plan, int64_t deadline_ns)
{
	int64_t inflate_ns = (int64_t) (plan->inflated_bytes / INFLATE_BYTES_PER_US) * 1000;
	return deadline_ns != 0 && sw_clock_ns() + inflate_ns > deadline_ns;
}

uint8_t *sw_dwarf_plan_map(const struct sw_dwarf_plan *plan, int fd, const struct sw_elf *elf)
{
	struct stat st;
	if (fd >= 0 && (fstat(fd, &st) < 0 || (uint64_t) st.st_size != elf->image.size))
		return NULL;
	void *p = mmap(NULL, plan->region_bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	if (fd < 0)
		memcpy(p, elf->image.data, elf->image.size);
	else if (mmap(p, elf->image.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0) !=
		 p) {
		(void) munmap(p, plan->region_bytes); /* ours */
		return NULL;
	}
	return p;
}

static bool inflate(const struct sw_dwarf_wanted *w, uint8_t *to)
{
	if (w->how == SW_DWARF_ZSTD)
		return ZSTD_decompress(to, w->bytes, w->from.data, w->from.size) == w->bytes;
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	if (d == NULL)
		return false;
	enum libdeflate_result r =
		libdeflate_zlib_decompress(d, w->from.data, w->from.size, to, w->bytes, NULL);
	libdeflate_free_decompressor(d);
	return r == LIBDEFLATE_SUCCESS;
}

enum sw_dwarf_open sw_dwarf_plan_inflate(const struct sw_dwarf_plan *plan, uint8_t *region,
					 int64_t deadline_ns, const char **ret_why)
{
	for (size_t k = 0; k < SW_DWARF_SECTIONS; k++) {
		const struct sw_dwarf_wanted *w = &plan->wanted[k];
		if (w->how == SW_DWARF_STORED)
			continue;
		if (sw_deadline_passed(deadline_ns))
			return SW_DWARF_LATE;
		if (!inflate(w, region + w->off)) {
			*ret_why = "its debug information is damaged, or too much";
			return SW_DWARF_NONE;
		}
	}
	return SW_DWARF_OPENED;
}
