/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_TOUCH_H
#define SW_CLR_TOUCH_H

#include "runtimes/clr/objects/before.h"

#include <snapwalk/walk.h>

void sw_clr_touching_destroy(struct sw_clr_touching *touching);

/* As sw_runtime_ops.touch. */
void sw_clr_touch(const struct sw_snapshot *snap, void *found, struct sw_memory memory);

#endif
