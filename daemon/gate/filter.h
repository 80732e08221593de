/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_GATE_FILTER_H
#define SW_GATE_FILTER_H

#include <snapwalk/error.h>

/* From now on the calling thread, which must be the only one of its process, and those that it makes answer clients and
 * ask the daemon. System calls for other things fail with EPERM, harmful ones kill. */
int sw_gate_filter_enter(struct sw_error *err);

#endif
