/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Bytes of a peer. Calls are taken one at a time: while one is unanswered nothing more is read, so
 * that a peer can neither queue work nor memory here; that it hangs up is seen nevertheless.
 */
#include "rpc/connection.h"
#include "rpc/call.h"
#include "rpc/server.h"
#include "rpc/space.h"
#include "cleanup.h"
#include "errors.h"

#include <malloc.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum { READ_BYTES = 64 << 10, PARTS_AT_ONCE = 4 };

void sw_connection_kick(struct sw_connection *c)
{
	if (sd_event_source_set_enabled(c->kick, SD_EVENT_ONESHOT) < 0)
		c->dead = true; /* destroyed at its next event */
}

int sw_connection_take_fd(struct sw_connection *c, int64_t index)
{
	if (index < 0 || (uint64_t) index >= c->n_fds || !sw_is_pidfd(c->fds[index]))
		return -EBADF;
	return sw_take_fd(c->fds[index]);
}

static void drop_fds(struct sw_connection *c)
{
	for (size_t i = 0; i < c->n_fds; i++)
		if (c->fds[i] >= 0)
			sw_discard_descriptor(&c->server->discards, c->fds[i], c->caller.uid);
	c->n_fds = 0;
}

/* ---- waiting ---- */

static void timer_set(struct sw_connection *c, bool waiting_for_message, bool stalled, bool idle)
{
	if (c->waiting_for_message == waiting_for_message && c->stalled == stalled &&
	    c->idle == idle)
		return;
	c->idle = idle;
	c->waiting_for_message = waiting_for_message;
	c->stalled = stalled;
	uint64_t ms = stalled ? SW_CONNECTION_STALL_MS
		      : idle  ? c->server->config->idle_ms
			      : SW_CONNECTION_MESSAGE_MS;
	int r = sd_event_source_set_enabled(c->timer, SD_EVENT_OFF);
	if (r >= 0 && (waiting_for_message || stalled || (idle && ms > 0))) {
		r = sd_event_source_set_time_relative(c->timer, ms * 1000);
		if (r >= 0)
			r = sd_event_source_set_enabled(c->timer, SD_EVENT_ONESHOT);
	}
	if (r < 0)
		c->dead = true;
}

/* Watch for the events that are waited for now. While a call is being worked on there is no limit
 * of ours. */
static void watch(struct sw_connection *c)
{
	bool partial = !c->has_begun || c->input.size > c->input.begin;
	uint32_t events = 0;
	if (c->call == NULL && !c->eof && c->output_bytes < SW_CONNECTION_OUTPUT_MAX)
		events |= EPOLLIN;
	if (c->output_bytes > 0)
		events |= EPOLLOUT;
	if (c->call != NULL && c->call->ended != NULL)
		events |= EPOLLRDHUP;
	if (sd_event_source_set_io_events(c->io, events) < 0)
		c->dead = true;
	timer_set(c, c->call == NULL && partial, c->output_bytes > 0,
		  c->call == NULL && !partial && c->output_bytes == 0);
}

/* ---- output ---- */

/* Many small replies lie between what stays: the C library keeps their memory until it is told. */
static void memory_return(struct sw_connection *c)
{
	if (c->had_much && c->output_bytes == 0)
		(void) malloc_trim(0); /* says whether it found something */
	c->had_much &= c->output_bytes > 0;
}

static void output_drop(struct sw_connection *c)
{
	for (struct sw_output *o; (o = STAILQ_FIRST(&c->output)) != NULL;) {
		STAILQ_REMOVE_HEAD(&c->output, link);
		free(o->data);
		free(o);
	}
	c->output_bytes = 0;
	memory_return(c);
}

static void output_flush(struct sw_connection *c)
{
	for (struct sw_output *o; !c->dead && (o = STAILQ_FIRST(&c->output)) != NULL;) {
		ssize_t n = send(c->fd, o->data + o->sent, o->size - o->sent,
				 MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0) {
			c->dead = true;
			return;
		}
		/* The peer reads: the stall begins anew. */
		c->stalled = false;
		o->sent += (size_t) n;
		c->output_bytes -= (size_t) n;
		if (o->sent < o->size)
			continue;
		STAILQ_REMOVE_HEAD(&c->output, link);
		free(o->data);
		free(o);
	}
	memory_return(c);
}

/* The writer of a reply takes up to twice its size; limits count sizes. */
static void give_back_rest(struct sw_output *o)
{
	char *fitting = realloc(o->data, o->size);
	if (fitting != NULL)
		o->data = fitting;
}

void sw_connection_send(struct sw_connection *c, char *data, size_t size)
{
	bool may = !c->dead && (c->output_bytes + size < SW_CONNECTION_OUTPUT_LOW ||
				sw_server_may_send(c->server, c, c->output_bytes + size));
	struct sw_output *o = may ? malloc(sizeof(*o)) : NULL;
	if (o == NULL) {
		free(data);
		c->dead = true;
		return;
	}
	*o = (struct sw_output){.data = data, .size = size};
	STAILQ_INSERT_TAIL(&c->output, o, link);
	c->output_bytes += size;
	c->had_much |= c->output_bytes >= SW_CONNECTION_OUTPUT_LOW;
	/* Most replies fit into the socket: no round through the event loop. */
	bool waits = STAILQ_FIRST(&c->output) != o;
	if (!waits) {
		output_flush(c);
		waits = STAILQ_FIRST(&c->output) == o;
	}
	if (waits)
		give_back_rest(o);
	if (c->output_bytes > 0 || c->dead)
		sw_connection_kick(c); /* to watch for space, or to be destroyed */
}

/* ---- input ---- */

static void take_fds(struct sw_connection *c, struct msghdr *message)
{
	for (struct cmsghdr *m = CMSG_FIRSTHDR(message); m != NULL; m = CMSG_NXTHDR(message, m)) {
		if (m->cmsg_level != SOL_SOCKET || m->cmsg_type != SCM_RIGHTS)
			continue;
		size_t n = (m->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(m) + i * sizeof(int), sizeof(int));
			if (c->n_fds < SW_CONNECTION_FDS_MAX)
				c->fds[c->n_fds++] = fd;
			else {
				sw_discard_descriptor(&c->server->discards, fd,
						      c->caller.uid); /* of no use */
				c->dead = true;
			}
		}
	}
	c->dead |= (message->msg_flags & MSG_CTRUNC) != 0;
}

static void receive(struct sw_connection *c)
{
	char data[READ_BYTES];
	union {
		/* The space for all descriptors that one message may have (SCM_MAX_FD,
		 * include/net/scm.h, Linux 6.1): the kernel itself closes those without space,
		 * before we go on. */
		char bytes[CMSG_SPACE(253 * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec part = {.iov_base = data, .iov_len = sizeof(data)};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(c->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		c->eof = true;
		c->dead |= n < 0;
		return;
	}
	take_fds(c, &message);
	/* HTTP, say: closed at once, instead of after a timeout. */
	if (!c->has_begun && data[0] != '{' && strchr(" \t\r\n", data[0]) == NULL)
		c->dead = true;
	c->has_begun = true;
	if (!c->dead && sw_varlink_input_add(&c->input, data, (size_t) n) < 0)
		c->dead = true;
}

static void dispatch(struct sw_connection *c)
{
	const char *message;
	size_t size;
	while (!c->dead && c->call == NULL && c->output_bytes < SW_CONNECTION_OUTPUT_MAX &&
	       sw_varlink_input_next(&c->input, &message, &size) > 0)
		c->dead = !sw_call_dispatch(c, message, size);
	if (c->call == NULL && c->input.size <= c->input.begin)
		drop_fds(c); /* no call wanted them */
}

/* Other connections have their turn after some parts. */
static void pump(struct sw_connection *c)
{
	bool more = true;
	for (int i = 0; more && i < PARTS_AT_ONCE; i++)
		more = !c->dead && c->call != NULL && c->call->pump != NULL &&
		       c->output_bytes < SW_CONNECTION_OUTPUT_LOW && c->call->pump(c->call);
	if (more)
		sw_connection_kick(c);
}

/* Everything that can go on now; may destroy the connection. */
static void process(struct sw_connection *c)
{
	dispatch(c);
	pump(c);
	/* The peer sends no more, and has received everything. */
	if (c->eof && c->call == NULL && c->output_bytes == 0)
		c->dead = true;
	if (!c->dead)
		watch(c);
	if (c->dead)
		sw_connection_destroy(c);
}

/* Tells a call that its connection ends. Bytes that the peer has sent before, and that were not read yet, stay where they are. */
static void tell_end(struct sw_connection *c)
{
	struct sw_call *call = c->call;
	if (call == NULL || call->ended == NULL)
		return;
	void (*ended)(struct sw_call * call) = call->ended;
	call->ended = NULL; /* it is seen again as long as it is watched for */
	ended(call);
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *arg)
{
	struct sw_connection *c = arg;
	(void) source;
	(void) fd;
	if (events & (EPOLLHUP | EPOLLERR) && !(events & EPOLLIN && c->call == NULL))
		c->dead = true; /* nobody is left to read what is being made */
	if (events & EPOLLOUT)
		output_flush(c);
	if (events & EPOLLIN && !c->dead)
		receive(c);
	if (events & EPOLLRDHUP && !c->dead)
		tell_end(c);
	process(c);
	return 0;
}

static int on_kick(sd_event_source *source, void *arg)
{
	(void) source;
	process(arg);
	return 0;
}

static int on_timer(sd_event_source *source, uint64_t now_us, void *arg)
{
	(void) source;
	(void) now_us;
	sw_connection_destroy(arg);
	return 0;
}

/* ---- life ---- */

static int sources_add(struct sw_connection *c)
{
	sd_event *event = c->server->event;
	int r = sd_event_add_io(event, &c->io, c->fd, EPOLLIN, on_io, c);
	if (r >= 0)
		r = sd_event_add_defer(event, &c->kick, on_kick, c);
	if (r >= 0)
		r = sd_event_source_set_enabled(c->kick, SD_EVENT_OFF);
	if (r >= 0)
		r = sd_event_add_time_relative(event, &c->timer, CLOCK_MONOTONIC,
					       SW_CONNECTION_MESSAGE_MS * UINT64_C(1000), 0,
					       on_timer, c);
	c->waiting_for_message = true;
	return r;
}

/* Once, when it connects: whoever sends later may be another process with the same socket. */
static void place_caller(struct sw_connection *c)
{
	const struct sw_server *server = c->server;
	struct sw_user_ns ns = {0};
	sw_cleanup(sw_close_p) int pidfd = sw_peer_pidfd(c->fd, c->caller.pid);
	if (server->look != NULL && pidfd >= 0)
		ns = server->look(server->look_arg, pidfd, c->caller.pid);
	sw_caller_place(server->config, &c->caller, ns);
}

int sw_connection_create(struct sw_server *server, int fd, struct sw_error *err)
{
	struct sw_connection *c = calloc(1, sizeof(*c));
	if (c == NULL) {
		sw_discard_connection(&server->discards, fd, (uid_t) -1); /* not ours yet */
		return sw_fail_nomem(err);
	}
	c->server = server;
	c->fd = fd;
	STAILQ_INIT(&c->output);
	TAILQ_INSERT_TAIL(&server->connections, c, link);
	server->n_connections++;
	int r = sw_caller_init(server->config, fd, &c->caller, err);
	if (r == 0)
		place_caller(c);
	if (r == 0 && sources_add(c) < 0)
		r = sw_fail_nomem(err);
	if (r < 0)
		sw_connection_destroy(c);
	return r;
}

void sw_connection_destroy(struct sw_connection *c)
{
	/* First: nobody sends to it any more. */
	struct sw_call *call = sw_take_ptr(c->call);
	sw_call_destroy(call);
	TAILQ_REMOVE(&c->server->connections, c, link);
	c->server->n_connections--;
	(void) sd_event_source_disable_unref(c->io);
	(void) sd_event_source_disable_unref(c->timer);
	(void) sd_event_source_disable_unref(c->kick);
	output_drop(c);
	drop_fds(c);
	sw_varlink_input_deinit(&c->input);
	sw_discard_connection(&c->server->discards, sw_take_fd(c->fd), c->caller.uid);
	sw_caller_deinit(&c->caller);
	free(c);
}
