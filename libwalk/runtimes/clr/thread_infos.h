/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_THREAD_INFOS_H
#define SW_CLR_THREAD_INFOS_H

#include "runtimes/clr/code/clr.h"

struct sw_capture;
struct sw_clr_thread_infos;

/* The variables that are copied in the stop for these: which thread finalizes, and which one
 * suspends the others. */
void sw_clr_thread_infos_prepare(struct sw_capture *capture, const struct sw_clr_runtime *runtime);

/* The runtime's knowledge of a thread (*ret is zeroed). */
bool sw_clr_thread_info(struct sw_clr *clr, const struct sw_thread *thread,
			struct sw_thread_info *ret);

void sw_clr_thread_infos_destroy(struct sw_clr_thread_infos *infos);

#endif
