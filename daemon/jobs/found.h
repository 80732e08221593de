/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_JOBS_FOUND_H
#define SW_DAEMON_JOBS_FOUND_H

#include "rpc/call.h"

/* An error reply that was not sent yet. */
struct sw_refusal {
	const char *name;                   /* static; NULL: none */
	struct json_object *parameters;     /* owned */
	char message[SW_ERROR_MESSAGE_MAX]; /* the same in words */
};
void sw_refusal_deinit(struct sw_refusal *refusal);
/* Sends it, and takes its parameters. */
void sw_refusal_send(struct sw_refusal *refusal, struct sw_call *call);
/* Fills it; consumes parameters. Always false, so that it can be returned. */
__attribute__((format(printf, 4, 5))) bool sw_refuse(struct sw_refusal *refusal, const char *name,
						     struct json_object *parameters,
						     const char *fmt, ...);
bool sw_refuse_denied(struct sw_refusal *refusal, pid_t pid, enum sw_deny_rule rule);

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

/* Target of a call. False: refused. *ret_bad: a parameter is wrong, refusal is not filled. */
bool sw_target_resolve(struct sw_call *call, struct json_object *target, struct sw_found *ret,
		       struct sw_refusal *refusal, const char **ret_bad);

/* By the words of a rule: "pid", "comm", "unit", "cgroup", "container". Up to max pids.
 * 0; -SW_E_INVALID, -SW_E_NOT_FOUND, or what sw_select_processes() says. */
int sw_target_select(const char *kind, const char *value, size_t max, pid_t *ret_pids,
		     size_t *ret_n, struct sw_error *err);

/* May the caller capture it? */
bool sw_target_permitted(struct sw_broker *broker, const struct sw_caller *caller,
			 const struct sw_found *found, struct sw_refusal *refusal);

#endif
