/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_COPIES_CPUS_H
#define SW_COPIES_CPUS_H

#include <stddef.h>

/* The largest number of a list of CPUs, as "0-3,8", and 1: numbers may have gaps. At most max; 0: it is no
 * such list. */
size_t sw_cpus_end(const char *list, size_t max);

#endif
