/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_BEAM_NAMES_H
#define SW_BEAM_NAMES_H

#include "runtimes/beam/beam.h"

enum { SW_BEAM_AT_CALL = 1 /* cookie: the frame waits for a function of Erlang */ };

/* sw_runtime_ops.names: "lists:map/2". */
int sw_beam_names(struct sw_beam *beam, const struct sw_frame *frame, struct sw_description *ret);

/* sw_runtime_ops.thread: "scheduler 3, runs <0.123.0>". */
bool sw_beam_thread(struct sw_beam *beam, const struct sw_thread *thread,
		    struct sw_thread_info *ret);

#endif
