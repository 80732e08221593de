/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_GATE_PULL_H
#define SW_DAEMON_GATE_PULL_H

#include "gate/call.h"
#include "gate/reply.h"

/*
 * GET /debug/pprof/...: stacks of a process as net/http/pprof of Go gives them of its own, for whatever fetches such
 * profiles. The daemon says which process, by a section [pull NAME] of its rules.
 */
enum {
	SW_GATE_PULLS_MAX = 8, /* at once: each waits in a thread */
	SW_GATE_PULL_SECONDS = 30,
	SW_GATE_PULL_SECONDS_MAX = 3600,
	SW_GATE_PULL_RATE_MAX = 100,
	SW_GATE_PULL_NAME_MAX = 64, /* bytes of a section's name that the daemon takes */
};

/* The arguments of a query as they came; NULL: not there. */
struct sw_gate_query {
	const char *target, *pid, *seconds, *rate, *mode, *debug, *format;
};

enum sw_gate_pull {
	SW_GATE_PULL_PROFILE, /* samples for some seconds */
	SW_GATE_PULL_STACKS,  /* all threads, once */
};

/* The call of the daemon, and the format, that a query asks for. */
struct sw_gate_wish {
	enum sw_gate_pull pull;
	struct json_object *parameters; /* owned; of the daemon's method */
	int64_t wait_ms;                /* until its answer must be there */
	unsigned debug;                 /* 0: profile.proto; more: text, as of Go */
	bool json;
};

/* 0; -SW_E_INVALID and a sentence; -SW_E_NOMEM. */
int sw_gate_wish_parse(enum sw_gate_pull pull, const struct sw_gate_query *query,
		       struct sw_gate_wish *ret, struct sw_error *err);

/* Makes the reply to a query. Ends when the client behind peer_fd closes its connection. */
void sw_gate_pull(struct sw_gate *gate, enum sw_gate_pull pull, const struct sw_gate_query *query,
		  int peer_fd, struct sw_gate_reply *ret);

#endif
