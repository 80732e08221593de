/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_RULES_RULE_H
#define SW_DAEMON_RULES_RULE_H

#include <snapwalk/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
 *	ProfileSec=10                                ; instead of Count= and IntervalSec=
 *	ProfileMode=cpu                              ; of ProfileSec=: wall (default), cpu, off
 *	OnEvent=syscall:openat errno=EMFILE          ; instead of Match=, Host= and Source=: an event of the
 *	                                             ; processes of Target=, see rules/on_event.h
 *	[pull NAME]                                  ; processes that TriggerUser= may fetch stacks of
 *	Target=unit:web.service comm:web             ; all of them, without labels
 *	RequireExe=/usr/bin/myapp                    ; as above
 *	MaxSec=60                                    ; the longest profile
 *	[profile NAME]                               ; profiles without an alert, again and again
 *	Target=unit:web.service comm:web             ; as of [pull NAME]
 *	RequireExe=/usr/bin/myapp / MaxTargets=4 / ProfileSec=10 / ProfileMode=cpu / IntervalSec=60 /
 *	RateHz=19, each on a line of its own
 * A ';' after a blank begins a comment. Match= and Target= may be given again, or go on in the next
 * line when that begins with a blank; a value with a blank in it is matched by a glob with '?' there.
 * A rule with a mistake in it is left out, as it would mean more than its author wanted: a file with
 * a line that is no INI is left out as a whole. Defaults: 4, 1, 1 and 300.
 */
enum sw_rule_kind { SW_RULE_ALERT, SW_RULE_PULL, SW_RULE_EVENT, SW_RULE_PROFILE, SW_RULE_KINDS };

enum { SW_RULE_FUNCTION_MAX = 512 };

/* The event of OnEvent=. */
struct sw_rule_event {
	struct sw_event_options options;
	char name[32]; /* of the event, or of the system call */
	/* A function, as "LIB:SYMBOL" or "SYMBOL", and whether it is a probe which the program declares. */
	char function[SW_RULE_FUNCTION_MAX];
	bool is_declared;
};

struct sw_rule {
	enum sw_rule_kind kind;
	char *name, *source, *host_label;
	char *require_exe; /* patterns, one a line: as it is written, and where its links lead */
	char **match;      /* "label=value" or "label~=glob"; NULL-terminated */
	char **targets;    /* "kind:template"; NULL-terminated */
	uint32_t max_targets, count, interval_ms, cooldown_ms;
	uint32_t profile_ms;        /* 0: captures */
	uint32_t profile_mode;      /* enum sw_record_mode */
	uint32_t rate_hz;           /* of SW_RULE_PROFILE */
	uint32_t max_ms;            /* of SW_RULE_PULL: the longest profile */
	struct sw_rule_event event; /* of SW_RULE_EVENT */
	int64_t last_ns; /* CLOCK_MONOTONIC of the last time it fired; INT64_MIN: never */
	int64_t due_ns;  /* CLOCK_MONOTONIC, of SW_RULE_PROFILE: its next turn; 0: it had none */
	/* SW_RULE_EVENT says this once until the next reload: */
	bool said_full;   /* it has no place for another process */
	bool said_select; /* its processes cannot be looked for */
	bool said_absent; /* a process lacks its function; until one has it */
};

struct sw_rules {
	struct sw_rule *rules; /* owned; of alerts */
	size_t n_rules;
	struct sw_rule *pulls; /* owned */
	size_t n_pulls;
	struct sw_rule *events; /* owned; those with OnEvent= */
	size_t n_events;
	struct sw_rule *profiles; /* owned */
	size_t n_profiles;
	size_t n_problems; /* mistakes that were reported */
	size_t n_unsafe;   /* of them, in RequireExe=: not to be started or reloaded with */
};

#endif
