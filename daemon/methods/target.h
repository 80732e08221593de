/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_METHODS_TARGET_H
#define SW_DAEMON_METHODS_TARGET_H

#include "jobs/job.h"
#include "rpc/call.h"
#include "rules/rule.h"

struct sw_methods;

/* Whether alerts of this caller are acted on: it is privileged, or the user of TriggerUser=. */
bool sw_methods_may_trigger(const struct sw_methods *methods, const struct sw_caller *caller);

/* Whether this caller may see a dump of that process: as it may capture it, or as the user of ShipUser=, who may capture
 * nothing. Deny= holds for that user, too; RequireSameNamespace= does not, as the unit gives it a namespace of its own. */
bool sw_methods_may_see(const struct sw_methods *methods, const struct sw_caller *caller,
			const struct sw_subject *subject);

/* The process that a call names, and by whose right it is captured. */
struct sw_taken {
	struct sw_found found;
	struct sw_caller caller; /* borrows the groups of the connection's caller */
	const struct sw_rule
		*pull; /* borrowed until the next event; NULL: the caller's own right */
};
void sw_taken_deinit(struct sw_taken *taken);

/* Target of a call, which the caller may have captured. False: the call was answered, why not. */
bool sw_target_take(struct sw_call *call, struct json_object *target, struct sw_taken *ret,
		    struct sw_refusal *refusal);
/* True: it is captured by the caller's own right. Else it is refused: a section that permits it limits captures and
 * how long a profile lasts, and no other call. */
bool sw_taken_is_own(const struct sw_taken *taken, struct sw_refusal *refusal);
/* Sets the right and the limits of a capture of it; the caller's wishes stay. */
void sw_taken_submit(struct sw_taken *taken, const struct sw_config *config,
		     struct sw_submission *submission);

/* Whether RequireExe= of a rule permits the process, as far as the broker sees it: whether a path leads to the program by a
 * link is known to the worker, which sees more directories. */
bool sw_target_exe_allowed(const struct sw_rule *rule, const struct sw_found *found);

/* By the words of a rule: "pid", "comm", "unit", "cgroup", "container". Up to max pids.
 * 0; -SW_E_INVALID, -SW_E_NOT_FOUND, or an error of sw_select_processes(). */
int sw_target_select(const char *kind, const char *value, size_t max, pid_t *ret_pids,
		     size_t *ret_n, struct sw_error *err);
/* The same by a word of Target= that has no labels, KIND:VALUE. */
int sw_target_select_word(const char *word, size_t max, pid_t *ret_pids, size_t *ret_n,
			  struct sw_error *err);

#endif
