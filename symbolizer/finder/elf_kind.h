/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_FINDER_ELF_KIND_H
#define SW_FINDER_ELF_KIND_H

#include "elf_file.h"

/* Whether a file has more names than those that it exports, or lines. */
bool sw_elf_has_symbols(const struct sw_elf *elf);
/* Whether a file is what objcopy --only-keep-debug leaves: symbols, and the headers of code without its bytes. */
bool sw_elf_is_debug_file(const struct sw_elf *elf);

enum { SW_ID_BYTES_LEAST = 3, SW_ID_BYTES_MOST = 64 };

#endif
