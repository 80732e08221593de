/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_METHODS_CONTEXT_H
#define SW_DAEMON_METHODS_CONTEXT_H

#include "jobs/state.h"
#include "methods/alerts.h"
#include "methods/continuous.h"
#include "methods/watch.h"
#include "rpc/server.h"
#include "rules/rule.h"

#include <limits.h>

/* The state that methods act on besides their call: sw_call.context. */
struct sw_methods {
	const struct sw_server *server; /* borrowed */
	struct sw_jobs *jobs;           /* borrowed */
	struct sw_rules rules;
	struct sw_watcher watcher;       /* of those with OnEvent= */
	struct sw_continuous continuous; /* of sections [profile NAME] */
	struct sw_acted_alerts alerts;   /* acted on */
	char host[HOST_NAME_MAX + 1];
	uid_t trigger_uid; /* of TriggerUser=; (uid_t) -1: there is none */
	uid_t ship_uid;    /* of ShipUser=; likewise */
	int64_t start_ns;  /* CLOCK_MONOTONIC */
};

/* Everything that must be looked up before the sandbox is entered. -SW_E_IO. */
int sw_methods_init(struct sw_methods *methods, const struct sw_server *server,
		    struct sw_jobs *jobs, struct sw_error *err);
/* Reads the rules, also again. When that fails, or RequireExe= has a mistake, the old ones stay. */
void sw_methods_load_rules(struct sw_methods *methods);
void sw_methods_deinit(struct sw_methods *methods);

#endif
