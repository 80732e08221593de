/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jit/gdb/symfile_line.h"
#include "formats/elf_handle.h"

#include <elfutils/libdw.h>
#include <stdio.h>
#include <stdlib.h>

struct sw_jit_lines {
	Elf *elf;     /* owned */
	Dwarf *dwarf; /* owned, over elf */
};

struct sw_jit_lines *sw_jit_lines_open(struct sw_bytes image)
{
	if (image.size > SW_JIT_LINES_BYTES)
		return NULL;
	struct sw_jit_lines *lines = calloc(1, sizeof(*lines));
	if (lines == NULL)
		return NULL;
	lines->elf = sw_elf_handle(image);
	if (lines->elf != NULL)
		lines->dwarf = dwarf_begin_elf(lines->elf, DWARF_C_READ, NULL);
	if (lines->dwarf == NULL) {
		sw_jit_lines_close(lines);
		return NULL;
	}
	return lines;
}

void sw_jit_lines_close(struct sw_jit_lines *lines)
{
	if (lines == NULL)
		return;
	if (lines->dwarf != NULL)
		(void) dwarf_end(lines->dwarf); /* these two return counts, not errors */
	if (lines->elf != NULL)
		(void) elf_end(lines->elf);
	free(lines);
}

void sw_jit_lines_find(struct sw_jit_lines *lines, uint64_t avma, struct sw_description *ret)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die unit;
	uint8_t type;
	for (size_t n = 0; n < SW_JIT_LINES_UNITS; n++) {
		if (dwarf_get_units(lines->dwarf, cu, &cu, NULL, &type, &unit, NULL) != 0)
			return;
		Dwarf_Line *line = dwarf_getsrc_die(&unit, avma);
		const char *file = line != NULL ? dwarf_linesrc(line, NULL, NULL) : NULL;
		int number;
		if (file == NULL || dwarf_lineno(line, &number) != 0 || number < 0)
			continue;
		(void) snprintf(ret->file, sizeof(ret->file), "%s", file); /* cut to fit */
		ret->line = (uint32_t) number;
		return;
	}
}
