/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_JOBS_FOUND_H
#define SW_DAEMON_JOBS_FOUND_H

#include "policy/authorize.h"
#include "rpc/reply.h"

struct sw_jobs;

/* A process that was found and may be captured. */
struct sw_found {
	pid_t pid;
	uint64_t starttime;
	int pidfd; /* owned */
	struct sw_target_creds creds;
};
void sw_found_deinit(struct sw_found *found);

/* By pid; starttime 0: any. pidfd: the caller's own, or negative; taken, also on failure. */
bool sw_found_init(struct sw_found *ret, pid_t pid, uint64_t starttime, int pidfd,
		   struct sw_refusal *refusal);

/* The facts on a process as they are by now. False: it has ended, or cannot be looked at. */
bool sw_found_rights_now(pid_t pid, uint64_t starttime, struct sw_target_rights *ret);

/* May the caller capture it? */
bool sw_target_permitted(struct sw_jobs *jobs, const struct sw_caller *caller,
			 const struct sw_found *found, struct sw_refusal *refusal);

#endif
