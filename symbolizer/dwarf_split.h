/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DWARF_SPLIT_H
#define SW_DWARF_SPLIT_H

#include "debugfile.h"
#include "dwarf_file.h"
#include "dwarf/ranges.h"

/*
 * Units of split DWARF: the program has a skeleton, with addresses and lines; functions and inlined calls
 * are in a .dwo file, or a part of a .dwp file (DWARF 5, 3.1.2; gcc.gnu.org/wiki/DebugFission).
 *
 * libdw would open a file by the name that the skeleton has, whatever that is, and before 0.191 knows no
 * .dwp. It is given one unit, of a regular file that we opened, as if it were a whole program:
 *
 *	region:  | ELF header, the file, copy on write | what was compressed | the unit's part of
 *		 | .debug_addr | section headers | zeros |
 */
struct sw_dwarf_split {
	struct sw_dwarf_file file; /* the view */
	Dwarf_Die die;             /* its unit's */
	struct sw_dwarf_skeleton skeleton;
};

/* A module's .dwp file, looked for once. */
struct sw_dwp {
	bool tried, found;
	struct sw_image image; /* owned */
	struct sw_elf elf;     /* over image */
};

/*
 * Opens the split unit of a skeleton, a unit of file. SW_DWARF_NONE: it is not a skeleton, or file->why
 * says what is missing. Close with sw_dwarf_file_close(&ret->file).
 */
enum sw_dwarf_open sw_dwarf_split_open(struct sw_dwarf_split *ret, Dwarf_Die *skeleton,
				       struct sw_dwarf_file *file, struct sw_unit *unit,
				       struct sw_dwp *dwp, const struct sw_request *request);
void sw_dwp_deinit(struct sw_dwp *dwp);

#endif
