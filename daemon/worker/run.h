/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_WORKER_RUN_H
#define SW_DAEMON_WORKER_RUN_H

#include "config/settings.h"
#include "worker/messages.h"

#include <snapwalk/symbolize.h>

/* The programs of the task iterator that the spawner has. */
struct sw_worker_iterator {
	int program_fd; /* owned; negative: refused says why */
	int returns_fd; /* owned: of sw_iterator_load_returns(); negative: none */
	int turns_fd;   /* owned: worker/turn.h */
	int prober_fd;  /* owned: of sw_prober_start(); negative: none */
	/* The cost of a breakpoint, where it could be measured. */
	struct sw_event_probe_cost probe_cost;
	bool has_probe_cost;
	char refused[SW_ERROR_MESSAGE_MAX];
};

/* The descriptors that a worker is given; its own. */
struct sw_worker_fds {
	int target_pidfd; /* negative: none */
	int names;        /* worker/names.h; negative: none */
	int stream;       /* to the broker */
	int moved; /* of sw_iterator_load_moved(), of nobody else meanwhile; negative: none */
};

/* Whether that worker may take many samples, between which nothing is parsed (worker/series.h): the spawner
 * gives it the program that says who ran. */
bool sw_worker_may_last(const struct sw_worker_request *request);

/* The worker's whole life, in the forked child. It limits the iterator to the target and closes the
 * program. */
__attribute__((noreturn)) void sw_worker_run(const struct sw_config *config,
					     const struct sw_worker_request *request,
					     const struct sw_worker_iterator *iterator,
					     const struct sw_unpacked *unpacked,
					     const struct sw_worker_fds *fds);

#endif
