/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_ASSEMBLY_H
#define SW_HOTSPOT_ASSEMBLY_H

#include "runtimes/hotspot/structures/hotspot.h"
#include "unwind/unwinder.h"

/* Out of a routine of libjvm.so that no table covers. As sw_runtime_ops.step. */
enum sw_step sw_hotspot_assembly_step(const struct sw_hotspot *h, const struct sw_cursor *cursor,
				      struct sw_stepped *ret);

#endif
