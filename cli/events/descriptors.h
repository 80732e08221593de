/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_DESCRIPTORS_H
#define SW_CLI_DESCRIPTORS_H

#include "events/held.h"

/* Descriptors, paired by number and file. The check is that of /proc/PID/fd. */
extern const struct sw_held_kind sw_held_descriptors;

#endif
