/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CONFINE_DESCRIPTORS_H
#define SW_CONFINE_DESCRIPTORS_H

#include <stddef.h>

/* Of a child that was forked for something else: all descriptors are closed but those that are needed, and the first
 * three are /dev/null. Needed ones that were among these have another number then; negative ones are none. What
 * cannot be done ends the process. */
void sw_confine_descriptors(int *const needed[], size_t n);

#endif
