/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_JIT_SYMFILE_H
#define SW_JIT_SYMFILE_H

#include "cfi/fde.h"
#include "memory.h"

#include <snapwalk/walk.h>

/*
 * An ELF file that describes generated code, as the GDB JIT interface publishes them: in memory, of
 * any type, with sh_addr set to where the sections are and relocations not applied (LLVM's
 * RuntimeDyld), or with absolute addresses from the start (qemu, PHP, V8). All avma.
 */
struct sw_jit_symfile;

enum {
	SW_JIT_SYMFILE_BYTES = 16 << 20, /* of one that is read in whole */
	SW_JIT_SYMFILE_SECTIONS = 4096,  /* looked at */
};

/* Code that a symfile describes. */
struct sw_jit_code {
	uint64_t start_avma, end_avma; /* [start, end) */
};

/*
 * The code of a symfile by its headers alone: calls each for every executable section that has an
 * address, until it answers false. *budget is how many bytes may be read, and is lowered.
 * @return 1; 0 when it is no x86-64 ELF file; -1 when it cannot be read, is malformed, or the budget
 *         is used up.
 */
int sw_jit_symfile_codes(struct sw_memory memory, uint64_t avma, uint64_t size, size_t *budget,
			 bool (*each)(void *arg, struct sw_jit_code code), void *arg);

/* Takes over bytes (malloc'ed, also on failure). NULL when malformed, or there is no memory. */
struct sw_jit_symfile *sw_jit_symfile_open(uint8_t *bytes, size_t size);
void sw_jit_symfile_close(struct sw_jit_symfile *file);

/* Whether avma is in its code. */
bool sw_jit_symfile_covers(const struct sw_jit_symfile *file, uint64_t avma);

/* The FDE for avma. The section's bytes are borrowed from the file. 1; 0 when there is none; -1 when
 * the tables are malformed. */
int sw_jit_symfile_cfi(const struct sw_jit_symfile *file, uint64_t avma,
		       struct sw_cfi_section *ret_section, struct sw_cfi_fde *ret);

/* The name of the function, and its line when that is there: 1 or 0. */
int sw_jit_symfile_describe(struct sw_jit_symfile *file, uint64_t avma, struct sw_description *ret);

#endif
