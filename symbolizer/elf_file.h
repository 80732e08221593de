/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_ELF_FILE_H
#define SW_ELF_FILE_H

#include "bytes.h"

#include <elf.h>

/*
 * The tables of an ELF file, read straight from its bytes. Names need nothing of libelf, and a
 * file that somebody else wrote is never more than a bounds-checked view here.
 */

enum {
	SW_ELF_SECTIONS_MAX = 65535, /* a real file has tens; -ffunction-sections is linked away */
	SW_ELF_SEGMENTS_MAX = 1024,
};

struct sw_elf {
	struct sw_bytes image; /* borrowed */
	uint64_t section_off;
	uint32_t n_sections; /* 0: none, or they do not lie in the image */
	struct sw_bytes section_names;
	uint64_t segment_off;
	uint32_t n_segments;
};

struct sw_elf_section {
	uint32_t index;
	const char *name; /* borrowed from the image, "" when it has none */
	uint32_t type;
	uint64_t flags;
	uint64_t svma, off, size;
	uint32_t link;
	uint64_t entry_bytes;
};

struct sw_elf_segment {
	uint32_t type;
	uint64_t off, svma, file_bytes, memory_bytes;
};

/* False when it is no little-endian ELF64 file. Without section headers it is still one. */
bool sw_elf_init(struct sw_elf *elf, struct sw_bytes image);

bool sw_elf_section(const struct sw_elf *elf, uint32_t index, struct sw_elf_section *ret);
/* The first of that type that is not empty. */
bool sw_elf_section_typed(const struct sw_elf *elf, uint32_t type, struct sw_elf_section *ret);
bool sw_elf_section_named(const struct sw_elf *elf, const char *name, struct sw_elf_section *ret);
/* Its bytes as they are in the file; false for NOBITS and when they do not lie in the image. */
bool sw_elf_section_bytes(const struct sw_elf *elf, const struct sw_elf_section *section,
			  struct sw_bytes *ret);

bool sw_elf_segment(const struct sw_elf *elf, uint32_t index, struct sw_elf_segment *ret);
/* The bytes of the file that are loaded at the address, up to the end of their segment. */
bool sw_elf_loaded(const struct sw_elf *elf, uint64_t svma, struct sw_bytes *ret);

/* The build-id, from segments or sections of notes. */
bool sw_elf_build_id(const struct sw_elf *elf, struct sw_bytes *ret);

#endif
