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
 * A ';' after a blank begins a comment. Match= and Target= may be given again, or go on in the next
 * line when that begins with a blank; a value with a blank in it is matched by a glob with '?' there.
 * A rule with a mistake in it is left out, as it would mean more than its author wanted: a file with
 * a line that is no INI is left out as a whole. Defaults: 4, 1, 1 and 300.
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

/* A directory that is not there has no rules. -SW_E_IO, -SW_E_NOMEM. */
int sw_rules_load(const char *directory, sw_config_say_fn *say, void *arg, struct sw_rules *ret,
		  struct sw_error *err);
void sw_rules_deinit(struct sw_rules *rules);
/* Adds those of one file's text; file_name is for messages. -SW_E_NOMEM. */
int sw_rules_parse(const char *file_name, const char *text, size_t size, sw_config_say_fn *say,
		   void *arg, struct sw_rules *rules, struct sw_error *err);

/* A label lookup: NULL when it is not there. */
typedef const char *sw_label_fn(void *arg, const char *name);

struct sw_rule_target {
	char *kind;  /* "pid", "unit", "cgroup", "comm", "container"; owned */
	char *value; /* owned */
};

void sw_rule_target_deinit(struct sw_rule_target *target);

/* What a target's value, which may have come from a label, must look like; by kind. */
bool sw_rule_value_valid(const char *kind, const char *value);
/* Does a label's value ("web1:9256") name this host? Its name, or that name's first component, as
 * far as host_name says it: "web1.example.org" is not the host "web1". */
bool sw_rule_host_matches(const char *value, const char *host_name);

/* 1 and the target when the rule matches; 0 and *ret_reason (static) why it does not: "source",
 * "labels", "host", "cooldown", "no target". -SW_E_NOMEM. Does not change the rule. */
int sw_rule_match(const struct sw_rule *rule, const char *source, sw_label_fn *label, void *arg,
		  const char *host_name, int64_t now_ns, struct sw_rule_target *ret,
		  const char **ret_reason);
bool sw_rule_exe_allowed(const struct sw_rule *rule, const char *exe);

#endif
