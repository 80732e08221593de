/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The second opinion over tables that anybody wrote: libunwind itself is not hardened, so that what
 * we let through to it matters. The input is a core file; it is walked by libunwind alone.
 */
#include "fuzz.h"
#include "walk_core.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct sw_walk_options options = {.max_frames = 64};
	walk_core_by(data, size, sw_walk_libunwind, &options);
	return 0;
}
