/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "worker/life.h"
#include "worker/wire.h"
#include "cleanup.h"

#include <snapwalk/clock.h>
#include <poll.h>

enum {
	NS_PER_MS = 1000000,
	TELL_NS = 500000000,
	TELL_STOPPED_US = 10000, /* the broker's limit must not be passed by much */
};

void sw_worker_life_begin(struct sw_worker_life *life, int64_t end_ns)
{
	const int64_t now_ns = sw_clock_ns();
	const int64_t most_ns = now_ns + SW_WORKER_LIFE_MS * (int64_t) NS_PER_MS;
	*life = (struct sw_worker_life){.end_ns = end_ns < most_ns ? end_ns : most_ns,
					.told_ns = now_ns};
}

bool sw_worker_life_wait(const struct sw_worker_life *life, int stream, int64_t when_ns)
{
	const bool last = when_ns >= life->end_ns;
	const int64_t until_ns = last ? life->end_ns : when_ns;
	for (;;) {
		int64_t left_ns = until_ns - sw_clock_ns();
		if (left_ns < 0)
			left_ns = 0;
		const struct timespec left = {.tv_sec = left_ns / 1000000000,
					      .tv_nsec = left_ns % 1000000000};
		/* The broker says nothing on it but that it is over. */
		struct pollfd event = {.fd = stream, .events = POLLIN | POLLRDHUP};
		int n = ppoll(&event, 1, &left, NULL);
		if (n > 0)
			return false;
		if (n == 0)
			/* when_ns of a worker that is late is long past. */
			return !last && sw_clock_ns() < life->end_ns;
	}
}

int sw_worker_life_flush(struct sw_worker_life *life, int stream, struct sw_error *err)
{
	const struct sw_worker_sampled more = life->more;
	if (more.n_samples == 0 && more.stopped_us == 0 && !more.by_clock)
		return 0;
	life->more = (struct sw_worker_sampled){0};
	life->told_ns = sw_clock_ns();
	return sw_worker_event_write(stream, SW_WORKER_SAMPLED, &more, sizeof(more), err);
}

int sw_worker_life_tell(struct sw_worker_life *life, int stream,
			const struct sw_worker_sampled *more, struct sw_error *err)
{
	struct sw_worker_sampled *sum = &life->more;
	sum->stopped_us += more->stopped_us;
	if (more->longest_us > sum->longest_us)
		sum->longest_us = more->longest_us;
	sum->n_samples += more->n_samples;
	sum->n_threads += more->n_threads;
	sum->by_clock |= more->by_clock;
	if (sum->stopped_us < TELL_STOPPED_US && sw_clock_ns() - life->told_ns < TELL_NS)
		return 0;
	return sw_worker_life_flush(life, stream, err);
}
