/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CORE_LOADED_H
#define SW_CORE_LOADED_H

#include "arena.h"
#include "saved/core_elf.h"
#include "saved/core_notes.h"

/*
 * The mapped files of a core file without NT_FILE, which the kernel leaves out of a process with more than
 * 65,000 mappings, and other writers always: the program by the auxiliary vector, what the dynamic linker loaded by
 * its list, all else that begins with an ELF header by its build-id.
 */
struct sw_core_loaded {
	const char *program; /* path of the program; NULL: the program was not found */
	size_t n_nameless;   /* images with code whose file nothing names */
	bool damaged;        /* the list of the dynamic linker is not whole */
	bool limited;        /* images or segments beyond the limits below were left out */
};

enum {
	SW_CORE_LINKS_MAX = 16384,   /* entries of all lists of the dynamic linker */
	SW_CORE_NAMESPACES_MAX = 64, /* lists: one for each dlmopen(3) */
};

/*
 * Set notes->files and notes->n_files.
 *
 * @param exe_path  The file that is the program, or NULL: where the core file says that it was.
 * @return 0; -SW_E_NOMEM.
 */
int sw_core_loaded_find(const struct sw_snapshot *snap, const struct sw_core_elf *core,
			const char *exe_path, struct sw_core_notes *notes,
			struct sw_core_loaded *ret);

#endif
