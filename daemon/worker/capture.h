/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_WORKER_CAPTURE_H
#define SW_DAEMON_WORKER_CAPTURE_H

#include "worker/target.h"

#include <snapwalk/pipeline.h>

/* The options of every dump, whoever makes how many of them. */

enum { SW_WORKER_TURN_MS = 100 /* beyond the longest stop of another */ };

/* As the broker asked for it; worker->begin_ns is when this capture began. */
struct sw_pipeline_options sw_worker_capture_options(struct sw_worker *worker);
/* To the broker: nothing of the target is held any more. stays: of struct sw_worker_resumed. */
int sw_worker_resumed_send(struct sw_worker *worker, const struct sw_snapshot *snap, bool stays,
			   struct sw_error *err);
/* Gives everything up but so much CPU time more than one dump takes; names of captures before this one are
 * known then. */
int sw_worker_confine(struct sw_worker *worker, uint32_t more_ms, struct sw_error *err);
/* The dump, to worker->stream. */
int sw_worker_report_send(const struct sw_worker *worker, const struct sw_report *report,
			  struct sw_error *err);

#endif
