/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_RULES_MATCH_H
#define SW_DAEMON_RULES_MATCH_H

#include "rules/rule.h"

#include <snapwalk/error.h>

#include <stdbool.h>

/* A label lookup: NULL when it is not there. */
typedef const char *sw_label_fn(void *arg, const char *name);

struct sw_rule_target {
	char *kind;  /* "pid", "unit", "cgroup", "comm", "container"; owned */
	char *value; /* owned */
};

void sw_rule_target_deinit(struct sw_rule_target *target);

/* Whether a target's value, which may have come from a label, looks as its kind must. */
bool sw_rule_value_valid(const char *kind, const char *value);
/* Does a label's value ("web1:9256") name this host? Its name, or that name's first component, as
 * far as host_name has it: "web1.example.org" is not the host "web1". */
bool sw_rule_host_matches(const char *value, const char *host_name);

/* 1 and the target when the rule matches; 0 and *ret_reason (static) why it does not: "source",
 * "labels", "host", "cooldown", "no target". -SW_E_NOMEM. Does not change the rule. */
int sw_rule_match(const struct sw_rule *rule, const char *source, sw_label_fn *label, void *arg,
		  const char *host_name, int64_t now_ns, struct sw_rule_target *ret,
		  const char **ret_reason);
bool sw_rule_exe_allowed(const struct sw_rule *rule, const char *exe);

/* Gives the path of RequireExe= as it is written. Returns false and "" where the rule has no path, where it is a pattern,
 * or where it does not fit. */
bool sw_rule_exe_path(const struct sw_rule *rule, char *ret, size_t size);

#endif
