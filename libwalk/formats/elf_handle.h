/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_ELF_HANDLE_H
#define SW_ELF_HANDLE_H

#include "bytes.h"

#include <libelf.h>

/* libelf's handle over bytes, which must stay, for what libdw is given: all else is read by elf_file.h.
 * NULL when there is no memory. End it with elf_end(). */
static inline Elf *sw_elf_handle(struct sw_bytes image)
{
	/* The prototype lacks const; libelf does not write to an image it was not asked to change. */
	return elf_version(EV_CURRENT) != EV_NONE
		       ? elf_memory((char *) (uintptr_t) image.data, image.size)
		       : NULL;
}

#endif
