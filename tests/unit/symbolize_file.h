/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SYMBOLIZE_FILE_H
#define SYMBOLIZE_FILE_H

#include "bytes.h"

#include <snapwalk/symbolize.h>

/* The bias of the place that symbolize_file() gives to its frames. */
enum { SYMBOLIZE_FILE_BIAS = 0x10000, SYMBOLIZE_FILE_FRAMES_MAX = 64 };

/* Symbolizes frames, of which pc_avma is set, in a file of these bytes, and reads all that comes. */
void symbolize_file(enum sw_module_kind kind, struct sw_bytes file, struct sw_frame *frames,
		    size_t n_frames);

/* A few addresses in each function that an ELF file has a symbol of, and some at the edges. How many. */
size_t symbolize_file_addresses(struct sw_bytes image,
				struct sw_frame frames[static SYMBOLIZE_FILE_FRAMES_MAX]);

#endif
