/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_EVENTS_STUBS_H
#define SW_EVENTS_STUBS_H

#include "formats/elf_file.h"

/* The word through which an entry of a PLT jumps: [endbr64] [bnd] jmp *disp(%rip). Parses. */
bool sw_stub_word(const struct sw_elf *elf, uint64_t svma, uint64_t *ret_svma);
/* The relocation by which the linker fills a word. Parses. */
bool sw_stub_relocation(const struct sw_elf *elf, uint64_t word_svma, Elf64_Rela *ret);
/* Whether an entry of a PLT leads to the function of that name, in this file or in another one; also where the code is chosen
 * when the program is loaded (IFUNC). Parses. */
bool sw_stub_leads_to(const struct sw_elf *elf, uint64_t svma, const char *name);
/* The function of this file that an entry of its PLT leads to, or a jump through a word that the linker fills; false: it leads
 * to another file, or is nothing like that. Another file that is loaded before may have a function of that name. */
bool sw_stub_target(const struct sw_elf *elf, uint64_t svma, uint64_t *ret_svma);

#endif
