/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DWARF_TABLES_H
#define SW_DWARF_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * An ELF header and a table of sections of our own, for bytes that have none that libdw could read: a PE
 * file, a unit of split DWARF. The header goes to the start of the bytes, the table where there is space.
 */

/* A section as libdw is to see it. */
struct sw_dwarf_section {
	const char *name;    /* static; NULL: the file lacks it */
	uint64_t off, bytes; /* from the start of the region */
};

enum { SW_DWARF_TABLES_MAX = 16, SW_DWARF_TABLES_BYTES = 2048 };

/* tables_off: SW_DWARF_TABLES_BYTES are free there, aligned to 8, and below 4 GB of a 32-bit file. At most SW_DWARF_TABLES_MAX sections. */
void sw_dwarf_tables_write(uint8_t *region, uint64_t tables_off, bool is_32bit,
			   const struct sw_dwarf_section *sections, size_t n_sections);

#endif
