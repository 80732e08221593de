/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_BEAM_ALL_PROCESSES_H
#define SW_BEAM_ALL_PROCESSES_H

#include "runtimes/beam/beam.h"
#include "unwind/runtime.h"

/* As sw_runtime_ops.tasks and task. */
size_t sw_beam_all_processes(struct sw_beam *beam, const char **ret_why);
bool sw_beam_process_show(struct sw_beam *beam, size_t n, struct sw_runtime_task *ret,
			  struct sw_frame_sink *sink);

void sw_beam_all_processes_destroy(struct sw_beam_all_processes *all);

#endif
