/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DWARF_PLAN_H
#define SW_DWARF_PLAN_H

#include "elf_file.h"

/*
 * Which sections of a file libdw is to see, and where: compressed ones are unpacked behind the file. No
 * part of a section lies outside of the region.
 */

enum sw_dwarf_open {
	SW_DWARF_OPENED,
	SW_DWARF_NONE, /* no debug information, or not usable */
	SW_DWARF_LATE, /* the deadline does not allow it */
};

enum sw_dwarf_which {
	SW_DWARF_INFO,
	SW_DWARF_ABBREV,
	SW_DWARF_LINE,
	SW_DWARF_STR,
	SW_DWARF_LINE_STR,
	SW_DWARF_RNGLISTS,
	SW_DWARF_RANGES,
	SW_DWARF_ARANGES,
	SW_DWARF_ADDR,
	SW_DWARF_STR_OFFSETS,
	SW_DWARF_SECTIONS,
};

extern const char *const sw_dwarf_section_names[SW_DWARF_SECTIONS];

struct sw_dwarf_wanted {
	struct sw_elf_section section; /* type SHT_NULL: the file lacks it */
	enum { SW_DWARF_STORED, SW_DWARF_DEFLATED, SW_DWARF_ZSTD } how;
	bool renamed;                  /* ".zdebug_info" */
	struct sw_bytes from;          /* compressed: the stream */
	uint64_t off, bytes;           /* in the region */
	uint64_t part_off, part_bytes; /* what is shown of it, within it; all of it at first */
};

struct sw_dwarf_plan {
	struct sw_dwarf_wanted wanted[SW_DWARF_SECTIONS];
	uint64_t inflated_bytes;
	uint64_t region_bytes;
	const char *why; /* static: it cannot be used; NULL: there is none */
};

/* split: of a .dwo or .dwp file, whose sections are called ".debug_info.dwo". */
bool sw_dwarf_plan_make(struct sw_dwarf_plan *plan, const struct sw_elf *elf, bool split);
/* Where in the region the file has ended, and what was compressed begins. */
uint64_t sw_dwarf_plan_behind(const struct sw_elf *elf);
/* Whether unpacking would take longer than there is time. */
bool sw_dwarf_plan_late(const struct sw_dwarf_plan *plan, int64_t deadline_ns);
/* The file, copy on write, with space behind it: region_bytes. fd: -1: a copy of what elf is over.
 * NULL when there is no memory, or the file has another size by now. */
uint8_t *sw_dwarf_plan_map(const struct sw_dwarf_plan *plan, int fd, const struct sw_elf *elf);
enum sw_dwarf_open sw_dwarf_plan_inflate(const struct sw_dwarf_plan *plan, uint8_t *region,
					 int64_t deadline_ns, const char **ret_why);

#endif
