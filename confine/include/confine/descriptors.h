/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CONFINE_DESCRIPTORS_H
#define SW_CONFINE_DESCRIPTORS_H

#include <stddef.h>

/* Close all descriptors of a child that was forked for something else but those that are needed;
 * the first three become /dev/null. Needed ones that were among these have another number then;
 * negative ones are none. A failure ends the process. */
void sw_confine_descriptors(int *const needed[], size_t n);

#endif
