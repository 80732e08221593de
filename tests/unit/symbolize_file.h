/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SYMBOLIZE_FILE_H
#define SYMBOLIZE_FILE_H

#include "bytes.h"

#include <snapwalk/symbolize.h>

/* The bias of the place that symbolize_file() gives to its frames. */
enum { SYMBOLIZE_FILE_BIAS = 0x10000 };

/* Symbolizes frames, of which pc_avma is set, in a file of these bytes, and reads all that comes. */
void symbolize_file(enum sw_module_kind kind, struct sw_bytes file, struct sw_frame *frames,
		    size_t n_frames);

#endif
