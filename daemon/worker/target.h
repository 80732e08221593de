/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_WORKER_TARGET_H
#define SW_DAEMON_WORKER_TARGET_H

#include "policy/authorize.h"
#include "worker/life.h"
#include "worker/messages.h"

#include <snapwalk/symbolize.h>
#include <snapwalk/walk.h>

/* The state of one capture, or of several one after the other. */
struct sw_worker {
	const struct sw_config *config;
	struct sw_worker_request request;
	int target_pidfd; /* -EBADF: none */
	int stream;
	int names_fd; /* -EBADF: none */
	struct sw_unpacked unpacked;
	struct sw_session *session; /* owned; NULL: not yet */
	int64_t begin_ns;           /* CLOCK_MONOTONIC */
	struct sw_worker_life life; /* of a series */
	struct sw_caller caller;
	int iterator_fd;              /* owned: of sw_iterator_limit(); -EBADF: none */
	const char *iterator_refused; /* why, in words; borrowed */
	int threads_fd, moved_fd; /* owned: programs of sw_sampler_create_lent(); -EBADF: none */
	int returns_fd;           /* owned: of sw_iterator_load_returns(); -EBADF: none */
	int turns_fd;             /* owned: worker/turn.h */
	int prober_fd;            /* owned: worker/prober.h; -EBADF: none */
	const struct sw_event_probe_cost *probe_cost; /* borrowed; NULL: it is not known */
	/* The results of the permission check when the target was captured. */
	enum sw_deny_rule rule;
	int permit_code; /* SW_E_*: the target's ids could not be read */
	struct sw_target_creds creds;
	/* The results of the look before the target was stopped. */
	bool program_is_listed;   /* sw_program_is_listed() */
	bool program_is_required; /* sw_program_is() */
	char program[sizeof(
		((struct sw_target_creds *) 0)->exe)]; /* which it was; "": no look yet */
	int program_fd; /* owned: of sw_program_fd(); from before the target was stopped */
};

/* The process that was asked for, if it is still the same and, at first sight, may be captured. */
int sw_worker_target_open(struct sw_worker *worker, struct sw_target **ret, struct sw_error *err);
/* The first look of each capture that follows: as that one's. */
int sw_worker_look(struct sw_worker *worker, pid_t pid, struct sw_error *err);
/* struct sw_snapshot_options.permit; arg is the worker. */
bool sw_worker_permit(void *arg, int task_fd);
/*
 * struct sw_snapshot_options.may_name; arg is the worker. Whether another process may be named in the dump:
 * everybody who may read the dump could look at it, too.
 */
bool sw_worker_may_name(void *arg, int proc_fd);
/* Whether the captured program is the file that the path of the request leads to. */
bool sw_worker_runs_required(const struct sw_worker *worker);
/* Why it could not be captured, for the broker. */
struct sw_worker_failed sw_worker_failure(const struct sw_worker *worker, int code,
					  const struct sw_error *err);

#endif
