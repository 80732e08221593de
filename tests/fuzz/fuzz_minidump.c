/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Minidumps: reading and walking. The input is the file. */
#include "fuzz.h"
#include "walk_core.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct sw_walk_options options = {.max_frames = 64};
	walk_core(data, size, &options);
	return 0;
}
