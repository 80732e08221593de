/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_WORKER_LIFE_H
#define SW_DAEMON_WORKER_LIFE_H

#include "worker/messages.h"

#include <snapwalk/error.h>

/*
 * How long a worker samples: until the profile is to end, for a minute at most, or until the broker says that it
 * is enough, by shutdown(2). After a minute another one goes on: what is lost when it is killed is no more than
 * that, and so is what somebody has of it who took it over.
 */
struct sw_worker_life {
	int64_t end_ns;                /* CLOCK_MONOTONIC */
	struct sw_worker_sampled more; /* that the broker was not told yet */
	int64_t told_ns;
};

enum { SW_WORKER_LIFE_MS = 60000 };

void sw_worker_life_begin(struct sw_worker_life *life, int64_t end_ns);
/* Wait until when_ns. Returns false if the worker is to end at once, or ended before. */
bool sw_worker_life_wait(const struct sw_worker_life *life, int stream, int64_t when_ns);
/* Tell the broker what was sampled since, twice a second, and when threads were stopped for long.
 * Returns 0 or -SW_E_IO. */
int sw_worker_life_tell(struct sw_worker_life *life, int stream,
			const struct sw_worker_sampled *more, struct sw_error *err);
/* At once, if there is something. */
int sw_worker_life_flush(struct sw_worker_life *life, int stream, struct sw_error *err);

#endif
