/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PE_FILE_H
#define SW_PE_FILE_H

#include "bytes.h"

/*
 * The tables of a PE32+ file for x86-64, read straight from its bytes: what names and lines need.
 * Addresses are RVAs, which are also the svma of PE modules. All bytes are hostile.
 * Source: Microsoft PE format specification (docs of 2025-07).
 */

enum {
	SW_PEFILE_SECTIONS_MAX = 96, /* the Windows loader takes no more ("COFF file header") */
	SW_PEFILE_SYMBOL_BYTES = 18, /* of a COFF symbol record */
	SW_PEFILE_EXPORTS = 0,       /* indices of data directories */
	SW_PEFILE_EXCEPTION = 3,
	SW_PEFILE_CODE = 0x20000000,  /* IMAGE_SCN_MEM_EXECUTE, in a section's flags */
	SW_PEFILE_NAME_MAX = 1 << 16, /* of names, with NUL; those of C++ reach some 10000 */
};

struct sw_pefile {
	struct sw_bytes image; /* borrowed */
	uint64_t base_avma;    /* preferred; DWARF's addresses count from there */
	uint64_t sections_off;
	uint32_t n_sections;
	uint64_t directories_off;
	uint32_t n_directories;
	struct sw_bytes symbols; /* COFF symbol records; empty when there are none */
	struct sw_bytes strings; /* their long names, by offset; begins with its own length */
};

struct sw_pefile_section {
	const char *name; /* borrowed, not NUL-terminated; "/123" when it is among the strings */
	size_t name_bytes;
	uint32_t rva, memory_bytes;
	uint32_t off, file_bytes;
	uint32_t flags;
};

/* False when it is none. Without symbols, directories or sections it is still one. */
bool sw_pefile_init(struct sw_pefile *pe, struct sw_bytes image);

/* Index from 0. COFF symbols count sections from 1. */
bool sw_pefile_section(const struct sw_pefile *pe, uint32_t index, struct sw_pefile_section *ret);
bool sw_pefile_section_named(const struct sw_pefile *pe, const char *name,
			     struct sw_pefile_section *ret);
/* Its bytes in the file, without what pads them to the file's alignment. */
bool sw_pefile_section_bytes(const struct sw_pefile *pe, const struct sw_pefile_section *section,
			     struct sw_bytes *ret);

/* A NUL-terminated name of at most SW_PEFILE_NAME_MAX bytes, without NUL *ret_bytes. It is borrowed. */
bool sw_pefile_name(struct sw_bytes bytes, uint64_t off, const char **ret, size_t *ret_bytes);

/* The bytes of the file that are loaded at rva, up to the end of their section. */
bool sw_pefile_at(const struct sw_pefile *pe, uint32_t rva, struct sw_bytes *ret);
/* The bytes of a data directory, and where they are loaded. */
bool sw_pefile_directory(const struct sw_pefile *pe, uint32_t index, uint32_t *ret_rva,
			 struct sw_bytes *ret);

/* What the exception directory says of an address. */
struct sw_pefile_extent {
	bool covered;       /* a function's entry holds it */
	uint32_t begin_rva; /* of that entry; else the end of the one before, 0 when none is */
	uint32_t
		primary_rva; /* the function's first instruction: of the entry that chains lead to */
};

/* functions: the exception directory's bytes. */
struct sw_pefile_extent sw_pefile_extent(const struct sw_pefile *pe, struct sw_bytes functions,
					 uint32_t rva);

#endif
