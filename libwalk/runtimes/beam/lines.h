/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_BEAM_LINES_H
#define SW_BEAM_LINES_H

#include "memory.h"
#include "runtimes/beam/layout.h"

#include <stdbool.h>

enum {
	SW_BEAM_LINES_MAX = 512, /* places of one function; of one that has more none is known */
	SW_BEAM_FILE_MAX = 1023, /* bytes of a file's name; a longer one is not known */
};

struct sw_beam_line {
	uint32_t line;
	uint64_t file; /* its name: a list of characters */
};

/* Where the function of this number in a module calls what returns behind avma. False: that is not known.
 * Allocates nothing: the window copies by it. */
bool sw_beam_line_find(struct sw_memory memory, const struct sw_beam_layout *layout,
		       uint64_t header_avma, uint64_t number, uint64_t avma,
		       struct sw_beam_line *ret);

/* The text of a list of characters, as UTF-8 with a NUL. Allocates nothing, either. */
bool sw_beam_text_read(struct sw_memory memory, uint64_t term, char ret[SW_BEAM_FILE_MAX + 1]);

#endif
