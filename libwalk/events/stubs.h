/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_EVENTS_STUBS_H
#define SW_EVENTS_STUBS_H

#include "formats/elf_file.h"

/* Whether an entry of a PLT leads to the function of that name, in this file or in another one; also where the code is chosen
 * when the program is loaded (IFUNC). Parses. */
bool sw_stub_leads_to(const struct sw_elf *elf, uint64_t svma, const char *name);

#endif
