/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DEBUGFILE_H
#define SW_DEBUGFILE_H

#include "provider.h"

/* A module's separate debug file, or the knowledge that there is none. */
struct sw_debugfile {
	bool found;
	struct sw_image image; /* owned */
	struct sw_elf elf;     /* over image */
};

/* The unit's separate debug file, looked for once; NULL when there is none. */
const struct sw_debugfile *sw_unit_debugfile(struct sw_unit *unit, const char *debug_dir);

/* debug_dir/.build-id/ab/cdef….debug, if it has that build-id itself. image is the caller's. */
bool sw_debugfile_by_build_id(const char *debug_dir, struct sw_bytes id, struct sw_image *image,
			      struct sw_elf *elf);

#endif
