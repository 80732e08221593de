/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_R2R_DEBUG_H
#define SW_CLR_R2R_DEBUG_H

#include "runtimes/clr/published/debug_info.h"
#include "runtimes/clr/code/names.h"

/* Where the debug information of a ReadyToRun method is; sets all but il_bytes. */
bool sw_clr_r2r_debug_find(struct sw_clr_names *names, const struct sw_clr_code *code,
			   struct sw_clr_debug_info *ret);

struct sw_clr_r2r_debug;
void sw_clr_r2r_debug_free(struct sw_clr_r2r_debug *list);

#endif
