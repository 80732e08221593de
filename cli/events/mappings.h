/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_MAPPINGS_H
#define SW_CLI_MAPPINGS_H

#include "events/held.h"

/*
 * Memory that a process maps, as intervals: one call may take away a part of what several others have mapped. A call is
 * outstanding as long as a page of it is there; its pages stay its own where mremap(2) moves them. The check is that of
 * /proc/PID/maps.
 */
extern const struct sw_held_kind sw_held_mappings;

#endif
