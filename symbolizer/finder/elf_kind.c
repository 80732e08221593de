/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "finder/elf_kind.h"

bool sw_elf_has_symbols(const struct sw_elf *elf)
{
	struct sw_elf_section section;
	return sw_elf_section_typed(elf, SHT_SYMTAB, &section) ||
	       (sw_elf_section_named(elf, ".debug_info", &section) && section.type != SHT_NOBITS);
}

bool sw_elf_is_debug_file(const struct sw_elf *elf)
{
	struct sw_elf_section text;
	return sw_elf_section_named(elf, ".text", &text) && text.type == SHT_NOBITS &&
	       sw_elf_has_symbols(elf);
}
