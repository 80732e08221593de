/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_ENTRY_POINTS_H
#define SW_CLR_ENTRY_POINTS_H

#include "runtimes/clr/code/names.h"

/* Where the method of an address begins, and which of its functions the address is in. */
struct sw_clr_start {
	uint64_t start_avma;
	unsigned index; /* 0 the body, else a funclet */
};

/* The same of ReadyToRun code of which the runtime does not say what method it is. */
const char *sw_clr_entry_point_name(struct sw_clr_names *names, const struct sw_clr_code *code,
				    struct sw_clr_start *ret);
void sw_clr_images_deinit(struct sw_clr_image *images);

#endif
