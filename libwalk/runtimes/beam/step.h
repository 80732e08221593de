/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_BEAM_STEP_H
#define SW_BEAM_STEP_H

#include "runtimes/beam/beam.h"
#include "unwind/unwinder.h"

/* sw_runtime_ops.step. */
enum sw_step sw_beam_step(struct sw_beam *beam, struct sw_cursor *cursor, struct sw_stepped *ret);

/* Whether the frame at the cursor waits for a function of Erlang that it has called. */
bool sw_beam_is_waiting(const struct sw_beam *beam, const struct sw_cursor *cursor);

#endif
