/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_ELF_FRAMES_H
#define SW_ELF_FRAMES_H

#include "elf_file.h"

/*
 * Where functions begin, by the search table of .eh_frame_hdr: the last start at or below svma. False when
 * there is none, or no table that can be read. Source: LSB 5.0 core, §10.6.2.
 */
bool sw_elf_frame_start(const struct sw_elf *elf, uint64_t svma, uint64_t *ret_svma);

#endif
