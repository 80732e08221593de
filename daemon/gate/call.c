/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The state that the threads share, and their calls to the daemon: a connection for each. */
#include "gate/call.h"
#include "cleanup.h"
#include "errors.h"

#include <snapwalk/clock.h>
#include <sys/socket.h>

const char *sw_gate_result_name(enum sw_gate_result result)
{
	static const char *const names[SW_GATE_N_RESULTS] = {
		[SW_GATE_CAPTURED] = "captured", [SW_GATE_SKIPPED] = "skipped",
		[SW_GATE_RESOLVED] = "resolved", [SW_GATE_DUPLICATE] = "duplicate",
		[SW_GATE_BUSY] = "busy",         [SW_GATE_REFUSED] = "refused",
		[SW_GATE_FAILED] = "failed",
	};
	return names[result];
}

void sw_gate_init(struct sw_gate *gate, const char *socket_path, const char *token)
{
	*gate = (struct sw_gate){.socket_path = socket_path, .token = token};
	(void) pthread_mutex_init(&gate->lock, NULL); /* always 0 without attributes */
}

void sw_gate_deinit(struct sw_gate *gate)
{
	(void) pthread_mutex_destroy(&gate->lock); /* nobody holds it */
}

/* Remembers the socket, so that a stop can end the wait. 0 is no socket of ours: it is stdin. */
static int *call_begin(struct sw_gate *gate, int fd)
{
	int *slot = NULL;
	(void) pthread_mutex_lock(&gate->lock);
	for (size_t i = 0; i < SW_GATE_CONNECTIONS && slot == NULL && !gate->stopping; i++)
		if (gate->calls[i] == 0)
			slot = &gate->calls[i];
	if (slot != NULL)
		*slot = fd;
	(void) pthread_mutex_unlock(&gate->lock);
	return slot;
}

/* Before the socket is closed: its number may be another's then. */
static void call_end(struct sw_gate *gate, int *slot)
{
	(void) pthread_mutex_lock(&gate->lock);
	*slot = 0;
	(void) pthread_mutex_unlock(&gate->lock);
}

static int left_ms(int64_t deadline_ns)
{
	int64_t left = (deadline_ns - sw_clock_ns()) / 1000000;
	return left > 0 ? (int) left : 0;
}

int sw_gate_call(struct sw_gate *gate, const char *method, struct json_object *parameters,
		 int64_t deadline_ns, struct sw_varlink_answer *ret, struct sw_error *err)
{
	struct sw_varlink_client *client = NULL;
	int r = parameters == NULL ? sw_fail_nomem(err) : 0;
	if (r == 0 && left_ms(deadline_ns) == 0)
		r = sw_fail(err, SW_E_TIMEOUT, "no time is left to ask the daemon");
	if (r == 0)
		r = sw_varlink_client_open(gate->socket_path, left_ms(deadline_ns), &client, err);
	if (r < 0) {
		(void) json_object_put(parameters); /* NULL is legal */
		return r;
	}
	int *slot = call_begin(gate, sw_varlink_client_fd(client));
	if (slot == NULL) {
		(void) json_object_put(parameters);
		r = sw_fail(err, SW_E_EXITED, "the gate is stopping");
	} else {
		r = sw_varlink_client_send(client, method, parameters, false, -1, err);
		if (r == 0)
			r = sw_varlink_client_receive(client, left_ms(deadline_ns), ret, err);
		call_end(gate, slot);
	}
	sw_varlink_client_close(client);
	return r;
}

void sw_gate_stop(struct sw_gate *gate)
{
	(void) pthread_mutex_lock(&gate->lock);
	gate->stopping = true;
	for (size_t i = 0; i < SW_GATE_CONNECTIONS; i++)
		if (gate->calls[i] != 0)
			(void) shutdown(gate->calls[i], SHUT_RDWR); /* it may have ended already */
	(void) pthread_mutex_unlock(&gate->lock);
}
