/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ELF_IMAGE_H
#define ELF_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * ELF files made of literals: code with .eh_frame as the program headers show it (as in a stripped
 * file), and sections on request. svma and file offset are the same:
 *
 *	0 headers | 0x1000 code | 0x2000 .eh_frame | 0x3000 .eh_frame_hdr | 0x4000 sections
 */
enum {
	IMAGE_CODE = 0x1000,
	IMAGE_EH_FRAME = 0x2000,
	IMAGE_HDR = 0x3000,
	IMAGE_SECTIONS = 0x4000,
	IMAGE_BYTES = 0x10000,
};

/* An FDE. Its CIE begins with CFA = rsp+8, ra = [CFA-8]. */
struct image_fde {
	uint32_t start, end; /* [start, end) from IMAGE_CODE */
	const uint8_t *rows; /* DW_CFA_* */
	size_t n_rows;
	bool signal;    /* 'S' in the CIE's augmentation */
	bool empty_cie; /* the CIE says nothing */
	bool unlisted;  /* not in .eh_frame_hdr */
};

struct image_section {
	const char *name;
	uint32_t type;
	uint64_t flags;
	const void *data;
	size_t size;
	uint64_t entry_size;
	uint32_t link; /* the first section has index 1 */
};

struct image_parts {
	const uint8_t *code;
	size_t n_code;
	uint64_t entry;               /* e_entry */
	const struct image_fde *fdes; /* by start */
	size_t n_fdes;
	const struct image_section *sections;
	size_t n_sections;
	uint64_t tls_bytes; /* of variables that each thread has; with n_fdes > 0 */
};

#define IMAGE_ROWS(...) \
	.rows = (const uint8_t[]){__VA_ARGS__}, .n_rows = sizeof((const uint8_t[]){__VA_ARGS__})

/* IMAGE_BYTES bytes; free(). */
uint8_t *elf_image(const struct image_parts *parts);

/* A .debug_frame section with one CIE (as above) and one FDE; *ret_size bytes; free(). */
uint8_t *debug_frame_section(uint64_t start_svma, uint64_t end_svma, const uint8_t *rows,
			     size_t n_rows, size_t *ret_size);

#endif
