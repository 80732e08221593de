/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_GO_STEP_H
#define SW_GO_STEP_H

#include "runtimes/go/go.h"
#include "unwind/unwinder.h"

/* The module whose Go code is at avma, NULL: none. */
const struct sw_go_module *sw_go_module_at(const struct sw_go *go, const struct sw_place *place,
					   uint64_t avma);

enum sw_step sw_go_step(struct sw_go *go, struct sw_cursor *cursor, struct sw_stepped *ret);

#endif
