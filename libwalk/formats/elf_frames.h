/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_ELF_FRAMES_H
#define SW_ELF_FRAMES_H

#include "elf_file.h"

/*
 * Where functions begin, by the search table of .eh_frame_hdr: the last start at or below svma. False when
 * there is none, or no table that can be read. Source: LSB 5.0 core, §10.6.2.
 */
bool sw_elf_frame_start(const struct sw_elf *elf, uint64_t svma, uint64_t *ret_svma);

/* The code [start, end) around svma that one FDE is about: a function, or a part of one. False likewise, also where the FDE
 * has addresses of another kind than the table. */
bool sw_elf_frame_range(const struct sw_elf *elf, uint64_t svma, uint64_t *ret_start_svma,
			uint64_t *ret_end_svma);

#endif
