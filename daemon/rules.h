/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_RULES_H
#define SW_DAEMON_RULES_H

#include "config.h"

/*
 * /etc/snapwalk/rules.d/NAME.conf: which alert means which process.
 *	[rule NAME]
 *	Source=alertmanager                          ; optional
 *	Match=alertname=ProcessStuck severity=page   ; all must be equal (~= for a glob)
 *	Host=instance                                ; mandatory: this label, port stripped, must
 *	                                             ; name this host
 *	Target=pid:%{pid} unit:%{systemd_unit}       ; the first whose labels are all there
 *	RequireExe=/usr/bin/myapp                    ; or a glob; the target must run it
 *	MaxTargets=4 / Count=3 / IntervalSec=1 / CooldownSec=300, each on a line of its own
 */
struct sw_rule {
	char *name, *source, *host_label, *require_exe;
	char **match;   /* "label=value" or "label~=glob"; NULL-terminated */
	char **targets; /* "kind:template"; NULL-terminated */
	uint32_t max_targets, count, interval_ms, cooldown_ms;
	int64_t last_ns; /* CLOCK_MONOTONIC of the last time it fired; INT64_MIN: never */
};

struct sw_rules {
	struct sw_rule *rules; /* owned */
	size_t n_rules;
};

int sw_rules_load(const char *directory, sw_config_say_fn *say, void *arg, struct sw_rules *ret,
		  struct sw_error *err);
void sw_rules_deinit(struct sw_rules *rules);

/* A label lookup: NULL when it is not there. */
typedef const char *sw_label_fn(void *arg, const char *name);

struct sw_rule_target {
	char *kind;  /* "pid", "unit", "cgroup", "comm", "container"; owned */
	char *value; /* owned */
};

/* 1 and the target when the rule matches; 0 and *ret_reason (static) why it does not: "source",
 * "labels", "host", "cooldown", "no target". -SW_E_NOMEM. Does not change the rule. */
int sw_rule_match(const struct sw_rule *rule, const char *source, sw_label_fn *label, void *arg,
		  const char *host_name, int64_t now_ns, struct sw_rule_target *ret,
		  const char **ret_reason);
bool sw_rule_exe_allowed(const struct sw_rule *rule, const char *exe);

#endif
