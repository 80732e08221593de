/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_ELF_SECTIONS_H
#define SW_ELF_SECTIONS_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>

enum { SW_ELF_SECTIONS_MAX = 65536 }; /* looked at */

/*
 * The sections of an ELF file one after the other, those left out whose header cannot be read:
 *	struct sw_elf_sections s = {.elf = elf};
 *	while (sw_elf_sections_next(&s)) ... s.scn, s.shdr
 */
struct sw_elf_sections {
	Elf *elf; /* borrowed */
	Elf_Scn *scn;
	GElf_Shdr shdr;
	size_t n; /* so far */
};

static inline bool sw_elf_sections_next(struct sw_elf_sections *s)
{
	while (s->n++ < SW_ELF_SECTIONS_MAX) {
		s->scn = elf_nextscn(s->elf, s->scn);
		if (s->scn == NULL)
			return false;
		if (gelf_getshdr(s->scn, &s->shdr) != NULL)
			return true;
	}
	return false;
}

#endif
