/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_STEP_H
#define SW_HOTSPOT_STEP_H

#include "runtimes/hotspot/frame.h"

/* Step one frame further, from code of the code cache. As sw_runtime_ops.step. */
enum sw_step sw_hotspot_step(struct sw_hotspot *h, struct sw_cursor *cursor,
			     struct sw_stepped *ret);

#endif
