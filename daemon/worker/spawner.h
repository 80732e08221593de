/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_WORKER_SPAWNER_H
#define SW_DAEMON_WORKER_SPAWNER_H

#include "config/settings.h"
#include "worker/messages.h"

/* The memory that the spawner shares with the broker, and with none of its children. */
struct sw_spawner_shared {
	_Atomic uint64_t
		continuous_us; /* CPU time of workers of continuous profiles that have ended */
};

struct sw_spawner {
	int fd;    /* owned: our end of the socket */
	int pidfd; /* owned: readable when the spawner has died */
	pid_t pid;
	uint64_t number; /* of orders so far */
	/* Why workers stop all threads: the task iterator is refused, in words. "": they do not. */
	char iterator_refused[SW_ERROR_MESSAGE_MAX];
	bool realtime_refused;            /* to workers: captures take longer on a busy machine */
	struct sw_spawner_shared *shared; /* owned: a page that the broker only reads */
};

/*
 * Fork the spawner; call before any thread, event loop or socket exists. The parent then drops its
 * own capabilities with sw_sandbox_broker().
 */
int sw_spawner_start(const struct sw_config *config, struct sw_spawner *ret, struct sw_error *err);

/* A reload: Deny=, DumpMax= and RequireSameNamespace= of workers from now on. 0; -SW_E_IO; -SW_E_LIMIT: Deny= is
 * longer than SW_WORKER_DENY_MAX in all. */
int sw_spawner_configure(struct sw_spawner *spawner, const struct sw_config *config,
			 struct sw_error *err);

/* Ends it, by closing the socket, and waits for it. */
void sw_spawner_stop(struct sw_spawner *spawner);

/*
 * Start a worker. target_pidfd < 0, names_fd (worker/names.h) < 0: none. *ret_pidfd becomes readable when the worker is gone and
 * is what kills it (pidfd_send_signal); *ret_stream is where its events come from. Both owned by
 * the caller. Bounded: at most a second. 0; -SW_E_IO (the spawner is gone), -SW_E_TIMEOUT (it does not
 * answer), -SW_E_LIMIT, -SW_E_NOMEM.
 */
int sw_spawner_spawn(struct sw_spawner *spawner, const struct sw_worker_request *request,
		     int target_pidfd, int names_fd, int *ret_pidfd, int *ret_stream,
		     struct sw_error *err);

/* The user namespace of a process, which the spawner may see and we may not. Unknown when it has
 * ended. Bounded as above. */
struct sw_user_ns sw_spawner_look(struct sw_spawner *spawner, int pidfd, pid_t pid);

#endif
