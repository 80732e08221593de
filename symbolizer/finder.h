/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_FINDER_H
#define SW_FINDER_H

#include "debugfile.h"

/* The debug file with that build-id, in the directories of the finder and in its cache. or_whole: else a file that was not
 * stripped. image is the caller's. */
bool sw_finder_debug_file(struct sw_finder *finder, struct sw_bytes id, struct sw_image *image,
			  struct sw_elf *elf, bool or_whole);

#endif
