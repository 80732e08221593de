/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DWARF_FILE_H
#define SW_DWARF_FILE_H

#include "dwarf/plan.h"
#include "provider.h"
#include "unit.h"
#include "unpacked/file.h"

#include <elfutils/libdw.h>

/*
 * An ELF file opened for lines and inlined calls.
 *
 * dwarf_begin_elf() decompresses every debug section it knows, which for libc's debug file is most of
 * the time of a whole dump. It is given a private mapping instead, whose section headers show only
 * what we read, decompressed by us into memory behind the file:
 *
 *	region:  | file, copy on write | .debug_info | .debug_line | ... | a page of zeros |
 *
 * Sections behind the file are mapped from the disk if they were unpacked before (unpacked/file.h).
 *
 * All section headers were checked to lie inside; a string without end, or a number cut short, runs
 * into another section or the zeros, never out of the region.
 */
struct sw_dwarf_file {
	uint8_t *region; /* owned; NULL when closed */
	size_t region_bytes;
	Elf *elf; /* owned, over region */
	Dwarf *dwarf;
	uint64_t base;                /* what DWARF's addresses are more than the svma; 0 for ELF */
	struct sw_bytes aranges;      /* .debug_aranges in region; empty when there is none */
	struct sw_bytes addr, ranges; /* .debug_addr, .debug_ranges: likewise */
	struct sw_bytes unpacked;     /* in region: what was compressed, as it is kept on disk */
	uint64_t layout;              /* says where in it which section is */
	struct sw_dwarf_file *alt;    /* owned; what dwz moved out of it */
	const char *
		why; /* static: what is missing, in words; NULL: nothing. Stays when it is closed */
};

/* elf is a view of the file's whole contents; both are only used during the call. */
enum sw_dwarf_open sw_dwarf_file_open(struct sw_dwarf_file *file, int fd, const struct sw_elf *elf,
				      const struct sw_request *request);
/* The key by which the unpacked sections of an open file are kept. Returns false if they cannot
 * be. */
bool sw_dwarf_file_key(const struct sw_dwarf_file *file, int fd, const struct sw_elf *elf,
		       struct sw_unpacked_key *ret);
/* The DWARF sections of a PE file. */
enum sw_dwarf_open sw_dwarf_pe_open(struct sw_dwarf_file *file, int fd,
				    const struct sw_pe_file *pe);
void sw_dwarf_file_close(struct sw_dwarf_file *file);

#endif
