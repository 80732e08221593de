/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The state that the threads share, and their calls to the daemon: a connection for each. */
#include "gate/call.h"
#include "cleanup.h"
#include "errors.h"

#include <snapwalk/clock.h>
#include <poll.h>
#include <string.h>
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
	(void) pthread_mutex_init(&gate->lock, NULL);       /* always 0 without attributes */
	(void) pthread_mutex_init(&gate->conversion, NULL); /* likewise */
}

void sw_gate_deinit(struct sw_gate *gate)
{
	(void) pthread_mutex_destroy(&gate->lock);       /* nobody holds it */
	(void) pthread_mutex_destroy(&gate->conversion); /* likewise */
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

/* A call under way. */
struct call {
	struct sw_gate *gate;
	struct sw_varlink_client *client; /* owned */
	int *slot;
};

/* Consumes parameters. */
static int call_send(struct sw_gate *gate, const char *method, struct json_object *parameters,
		     int64_t deadline_ns, struct call *ret, struct sw_error *err)
{
	*ret = (struct call){.gate = gate};
	int r = parameters == NULL ? sw_fail_nomem(err) : 0;
	if (r == 0 && left_ms(deadline_ns) == 0)
		r = sw_fail(err, SW_E_TIMEOUT, "no time is left to ask the daemon");
	if (r == 0)
		r = sw_varlink_client_open(gate->socket_path, left_ms(deadline_ns), &ret->client,
					   err);
	if (r == 0) {
		ret->slot = call_begin(gate, sw_varlink_client_fd(ret->client));
		r = ret->slot == NULL ? sw_fail(err, SW_E_EXITED, "the gate is stopping") : 0;
	}
	if (r < 0) {
		(void) json_object_put(parameters); /* NULL is legal */
		return r;
	}
	return sw_varlink_client_send(ret->client, method, parameters, false, -1, err);
}

static void call_deinit(struct call *call)
{
	if (call->slot != NULL)
		call_end(call->gate, call->slot);
	if (call->client != NULL)
		sw_varlink_client_close(call->client);
}

int sw_gate_call(struct sw_gate *gate, const char *method, struct json_object *parameters,
		 int64_t deadline_ns, struct sw_varlink_answer *ret, struct sw_error *err)
{
	struct call call;
	int r = call_send(gate, method, parameters, deadline_ns, &call, err);
	if (r == 0)
		r = sw_varlink_client_receive(call.client, left_ms(deadline_ns), ret, err);
	call_deinit(&call);
	return r;
}

/* Waits until the daemon says something, or the client has gone. */
static int wait_for_reply(const struct call *call, int64_t deadline_ns, int peer_fd,
			  struct sw_error *err)
{
	struct pollfd fds[] = {
		{.fd = sw_varlink_client_fd(call->client), .events = POLLIN},
		{.fd = peer_fd, .events = POLLRDHUP},
	};
	int n;
	do
		n = poll(fds, SW_ARRAY_SIZE(fds), left_ms(deadline_ns));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return sw_fail_errno(err, SW_E_IO, "poll");
	if (fds[1].revents != 0)
		return sw_fail(err, SW_E_EXITED, "the client has gone");
	return n == 0 ? sw_fail(err, SW_E_TIMEOUT, "the daemon does not answer") : 0;
}

int sw_gate_call_text(struct sw_gate *gate, const char *method, struct json_object *parameters,
		      int64_t deadline_ns, int peer_fd, struct sw_varlink_answer *ret,
		      char **ret_text, size_t *ret_size, struct sw_error *err)
{
	struct call call;
	const char *text = NULL;
	char *copy = NULL;
	size_t size = 0;
	int r = call_send(gate, method, parameters, deadline_ns, &call, err);
	if (r == 0)
		r = wait_for_reply(&call, deadline_ns, peer_fd, err);
	if (r == 0)
		r = sw_varlink_client_receive_text(call.client, left_ms(deadline_ns), ret, &text,
						   &size, err);
	if (r == 0 && text != NULL) {
		copy = strndup(text, size);
		r = copy == NULL ? sw_fail_nomem(err) : 0;
	}
	call_deinit(&call);
	if (r < 0)
		return r;
	*ret_text = copy;
	*ret_size = size;
	return 0;
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
