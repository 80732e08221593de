/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_GATE_CALL_H
#define SW_DAEMON_GATE_CALL_H

#include "gate/host.h"
#include "gate/seen.h"
#include "gate/slots.h"

#include <snapwalk/varlink.h>

#include <pthread.h>

/*
 * snapwalk-gate(8): HTTP on loopback for what speaks nothing else, as a client of the daemon's
 * socket. Each connection has a thread; what they share is in struct sw_gate, under its lock.
 */
enum {
	SW_GATE_AWAY_S = 5, /* Retry-After while the daemon is away */
};

enum sw_gate_result {
	SW_GATE_CAPTURED,
	SW_GATE_SKIPPED,   /* no rule, a rule's host, cooldown ... */
	SW_GATE_RESOLVED,  /* not firing */
	SW_GATE_DUPLICATE, /* acted on before */
	SW_GATE_BUSY,      /* or the daemon is away: to be sent again */
	SW_GATE_REFUSED,   /* the daemon does not let us */
	SW_GATE_FAILED,
	SW_GATE_N_RESULTS,
};
const char *sw_gate_result_name(enum sw_gate_result result); /* static */

static const unsigned sw_gate_codes[] = {200, 400, 401, 403, 404, 405, 409, 413, 421, 500, 503};
enum { SW_GATE_N_CODES = sizeof(sw_gate_codes) / sizeof(sw_gate_codes[0]) };

struct sw_gate {
	const char *socket_path; /* borrowed */
	const char *token;       /* borrowed */
	struct sw_gate_hosts hosts;
	pthread_mutex_t lock; /* for all below */
	struct sw_gate_seen seen;
	uint64_t results[SW_GATE_N_RESULTS];
	uint64_t requests[SW_GATE_N_CODES];
	int calls[SW_GATE_CONNECTIONS]; /* sockets of calls under way; 0: unused */
	struct sw_gate_slots slots;
	bool stopping;
	unsigned n_pulls;           /* answers to GET /debug under way */
	pthread_mutex_t conversion; /* held by the only thread that makes a reply of a dump */
};

void sw_gate_init(struct sw_gate *gate, const char *socket_path, const char *token);
void sw_gate_deinit(struct sw_gate *gate);

/* Make a call to the daemon. Consumes parameters. Returns 0 and an answer, which may be an error of
 * the daemon; -SW_E_NOT_FOUND, -SW_E_TIMEOUT, -SW_E_EXITED ...: there is none. */
int sw_gate_call(struct sw_gate *gate, const char *method, struct json_object *parameters,
		 int64_t deadline_ns, struct sw_varlink_answer *ret, struct sw_error *err);
/* The same for a reply that may be large: *ret_text is its parameters as text, malloc'ed; NULL: ret has an error. Returns
 * -SW_E_EXITED, too, when the client behind peer_fd has closed its connection: the daemon ends its work then. */
int sw_gate_call_text(struct sw_gate *gate, const char *method, struct json_object *parameters,
		      int64_t deadline_ns, int peer_fd, struct sw_varlink_answer *ret,
		      char **ret_text, size_t *ret_size, struct sw_error *err);
/* Ends the calls under way; later ones fail at once. */
void sw_gate_stop(struct sw_gate *gate);

#endif
