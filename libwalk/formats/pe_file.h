/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PE_FILE_H
#define SW_PE_FILE_H

#include "pe_image.h"

/*
 * A PE file for x86-64 or i386 beyond its headers: what names and lines need.
 * Addresses are RVAs, which are also the svma of PE modules. All bytes are hostile.
 */

enum {
	SW_PE_FILE_SYMBOL_BYTES = 18,  /* of a COFF symbol record */
	SW_PE_FILE_NAME_MAX = 1 << 16, /* of names, with NUL; those of C++ reach some 10000 */
};

struct sw_pe_file {
	struct sw_bytes image; /* borrowed */
	struct sw_pe_image headers;
	struct sw_bytes symbols; /* COFF symbol records; empty when there are none */
	struct sw_bytes strings; /* their long names, by offset; begins with its own length */
};

/* False when it is no PE file. Without symbols it still is. */
bool sw_pe_file_init(struct sw_pe_file *pe, struct sw_bytes image);

/* By its name, which may be among the strings; NULL when there is none. */
const struct sw_pe_section *sw_pe_file_section_named(const struct sw_pe_file *pe, const char *name);
/* The bytes of a section in the file, without what pads them to the file's alignment. */
bool sw_pe_file_section_bytes(const struct sw_pe_file *pe, const struct sw_pe_section *section,
			      struct sw_bytes *ret);

/* A NUL-terminated name of at most SW_PE_FILE_NAME_MAX bytes, without NUL *ret_bytes. It is borrowed. */
bool sw_pe_file_name(struct sw_bytes bytes, uint64_t off, const char **ret, size_t *ret_bytes);

/* The bytes of the file that are loaded at rva, up to the end of their section. */
bool sw_pe_file_at(const struct sw_pe_file *pe, uint32_t rva, struct sw_bytes *ret);
/* The bytes of a data directory. */
bool sw_pe_file_directory(const struct sw_pe_file *pe, struct sw_pe_directory directory,
			  struct sw_bytes *ret);

/* The entry of the exception directory for an address. */
struct sw_pe_file_extent {
	bool covered;       /* a function's entry holds it */
	uint32_t begin_rva; /* of that entry; else the end of the one before, 0 when none is */
	uint32_t
		primary_rva; /* the function's first instruction: of the entry that chains lead to */
};

/* functions: the exception directory's bytes. */
struct sw_pe_file_extent sw_pe_file_extent(const struct sw_pe_file *pe, struct sw_bytes functions,
					   uint32_t rva);

#endif
