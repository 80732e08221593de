/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CONFINE_DESCRIPTORS_H
#define SW_CONFINE_DESCRIPTORS_H

#include <stddef.h>

/* Of a child that was forked for something else: the descriptors that are needed become 3 and those behind it, in
 * their order; the first three are /dev/null, all others are closed. Negative ones stay as they are. What cannot be
 * done ends the process. */
void sw_confine_descriptors(int *const needed[], size_t n);

#endif
