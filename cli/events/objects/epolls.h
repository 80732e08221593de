/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_EPOLLS_H
#define SW_CLI_EPOLLS_H

#include "events/held.h"

/*
 * Files that sets of epoll(7) watch, paired by the file of the set, the file that is watched, and the number of its descriptor. The
 * check is that of /proc/PID/fdinfo of each set.
 */
extern const struct sw_held_kind sw_held_epolls;

#endif
