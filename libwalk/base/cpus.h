/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPUS_H
#define SW_CPUS_H

#include <stdbool.h>
#include <stddef.h>

/* Takes the next range, [*ret_first, *ret_last], from a list of CPUs as /sys/devices/system/cpu has them: "0-3,8\n".
 * Numbers that are too large are ULONG_MAX. False: no range begins at *at, which is at the end of a list or in a text that is
 * none. */
bool sw_cpus_next(const char **at, unsigned long *ret_first, unsigned long *ret_last);

/*
 * The largest number of a list of CPUs, and one more: where numbers have gaps that is more than there are CPUs.
 *
 * @param list  As /sys/devices/system/cpu/possible has it: "0-3,8\n".
 * @return At most max; 0: it is no such list.
 */
size_t sw_cpus_end(const char *list, size_t max);

#endif
