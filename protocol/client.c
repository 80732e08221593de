/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A blocking Varlink client on AF_UNIX: poll() with a limit before everything that may wait. */
#include "cleanup.h"
#include "errors.h"
#include "varlink_message.h"
#include "varlink_reply.h"

#include <snapwalk/clock.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

enum { READ_BYTES = 64 * 1024 };

struct sw_varlink_client {
	int fd;
	int timeout_ms; /* of a send; < 0: none */
	struct sw_varlink_input input;
};

void sw_varlink_client_close(struct sw_varlink_client *client)
{
	if (client == NULL)
		return;
	sw_close_p(&client->fd);
	sw_varlink_input_deinit(&client->input);
	free(client);
}

SW_DEFINE_CLEANUP(struct sw_varlink_client *, sw_varlink_client_close);

int sw_varlink_client_fd(const struct sw_varlink_client *client)
{
	return client->fd;
}

/* INT64_MAX: never. */
static int64_t deadline_after(int timeout_ms)
{
	return timeout_ms < 0 ? INT64_MAX : sw_clock_ms() + timeout_ms;
}

/* Wait until the socket is ready for events or gone. Returns 0, -SW_E_TIMEOUT or -SW_E_IO. */
static int wait_for(int fd, short events, int64_t deadline_ms, struct sw_error *err)
{
	for (;;) {
		int left_ms = -1;
		if (deadline_ms != INT64_MAX) {
			int64_t left = deadline_ms - sw_clock_ms();
			left_ms = left > 0 ? (int) left : 0;
		}
		struct pollfd ready = {.fd = fd, .events = events};
		int n = poll(&ready, 1, left_ms);
		if (n > 0)
			return 0;
		if (n == 0)
			return sw_fail(err, SW_E_TIMEOUT, "the daemon took too long");
		if (errno != EINTR)
			return sw_fail_errno(err, SW_E_IO, "waiting for the daemon");
	}
}

/* Connecting an AF_UNIX socket waits while the listener's queue is full, SO_SNDTIMEO at most: then
 * EAGAIN (unix(7)). Nothing in poll() would tell when there is space. */
static int connect_within(int fd, const struct sockaddr_un *address, int timeout_ms,
			  struct sw_error *err)
{
	/* 0 would be no limit */
	int limit_ms = timeout_ms > 0 ? timeout_ms : 1;
	struct timeval limit = {.tv_sec = limit_ms / 1000, .tv_usec = limit_ms % 1000 * 1000};
	if (timeout_ms >= 0 && setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) < 0)
		return sw_fail_errno(err, SW_E_IO, "setting a time limit");
	int r;
	do
		r = connect(fd, (const struct sockaddr *) address, sizeof(*address));
	while (r < 0 && errno == EINTR);
	if (r == 0)
		return 0;
	switch (errno) {
	case ENOENT:
	case ENOTDIR:
	case ECONNREFUSED:
		return sw_fail_errno(err, SW_E_NOT_FOUND, "nobody listens on %s",
				     address->sun_path);
	case EACCES:
	case EPERM: return sw_fail_errno(err, SW_E_NOT_PERMITTED, "%s", address->sun_path);
	case EAGAIN:
		return sw_fail(err, SW_E_TIMEOUT, "%s: the daemon does not take connections",
			       address->sun_path);
	default: return sw_fail_errno(err, SW_E_IO, "connecting to %s", address->sun_path);
	}
}

int sw_varlink_client_open(const char *socket_path, int timeout_ms, struct sw_varlink_client **ret,
			   struct sw_error *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (strlen(socket_path) >= sizeof(address.sun_path))
		return sw_fail(err, SW_E_INVALID, "the path of a socket has %zu bytes at most: %s",
			       sizeof(address.sun_path) - 1, socket_path);
	memcpy(address.sun_path, socket_path, strlen(socket_path));
	sw_cleanup(sw_varlink_client_close_p) struct sw_varlink_client *client =
		calloc(1, sizeof(*client));
	if (client == NULL)
		return sw_fail_nomem(err);
	client->timeout_ms = timeout_ms;
	client->input.max = SW_VARLINK_MESSAGE_MAX;
	client->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (client->fd < 0)
		return sw_fail_errno(err, SW_E_IO, "making a socket");
	int r = connect_within(client->fd, &address, timeout_ms, err);
	if (r < 0)
		return r;
	*ret = sw_take_ptr(client);
	return 0;
}

/* A descriptor goes with the first byte (UAPI.20, "Passing File Descriptors"). */
static ssize_t send_some(int fd, const char *data, size_t size, int pass_fd)
{
	struct iovec part = {.iov_base = (char *) data, .iov_len = size};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	union {
		struct cmsghdr header; /* for its alignment */
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	if (pass_fd >= 0) {
		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
		struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
		rights->cmsg_level = SOL_SOCKET;
		rights->cmsg_type = SCM_RIGHTS;
		rights->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(rights), &pass_fd, sizeof(int));
	}
	return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static int send_all(struct sw_varlink_client *client, const char *data, size_t size, int pass_fd,
		    struct sw_error *err)
{
	int64_t deadline_ms = deadline_after(client->timeout_ms);
	while (size > 0) {
		ssize_t n = send_some(client->fd, data, size, pass_fd);
		if (n > 0) {
			data += n;
			size -= (size_t) n;
			pass_fd = -1;
			continue;
		}
		if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
			return sw_fail(err, SW_E_EXITED, "the daemon hung up");
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return sw_fail_errno(err, SW_E_IO, "sending to the daemon");
		int r = wait_for(client->fd, POLLOUT, deadline_ms, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int sw_varlink_client_send(struct sw_varlink_client *client, const char *method,
			   struct json_object *parameters, bool more, int pass_fd,
			   struct sw_error *err)
{
	sw_cleanup(sw_free_p) char *message = NULL;
	size_t size;
	int r = sw_varlink_call_text(method, parameters, more, &message, &size);
	if (r < 0)
		return sw_fail(err, -r, "%s: %s", method, sw_error_text(r));
	return send_all(client, message, size, pass_fd, err);
}

/* 0; -SW_E_EXITED; -SW_E_FORMAT; -SW_E_IO; -SW_E_NOMEM. Nothing to read is 0, too. */
static int read_some(struct sw_varlink_client *client, struct sw_error *err)
{
	char data[READ_BYTES];
	ssize_t n = recv(client->fd, data, sizeof(data), MSG_DONTWAIT);
	if (n == 0 || (n < 0 && errno == ECONNRESET)) {
		bool within = client->input.tail != client->input.size;
		return sw_fail(err, SW_E_EXITED, "the daemon hung up%s",
			       within ? " in the middle of an answer" : "");
	}
	if (n < 0)
		return errno == EAGAIN || errno == EINTR
			       ? 0
			       : sw_fail_errno(err, SW_E_IO, "reading from the daemon");
	int r = sw_varlink_input_add(&client->input, data, (size_t) n);
	if (r == -SW_E_LIMIT)
		return sw_fail(err, SW_E_FORMAT, "an answer of the daemon is above %d MiB",
			       SW_VARLINK_MESSAGE_MAX >> 20);
	return r < 0 ? sw_fail_nomem(err) : 0;
}

/* The next message, borrowed until the next one. */
static int receive(struct sw_varlink_client *client, int timeout_ms, const char **ret_message,
		   size_t *ret_size, struct sw_error *err)
{
	int64_t deadline_ms = deadline_after(timeout_ms);
	while (sw_varlink_input_next(&client->input, ret_message, ret_size) == 0) {
		int r = wait_for(client->fd, POLLIN, deadline_ms, err);
		if (r == 0)
			r = read_some(client, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int sw_varlink_client_receive(struct sw_varlink_client *client, int timeout_ms,
			      struct sw_varlink_answer *ret, struct sw_error *err)
{
	const char *message;
	size_t size;
	int r = receive(client, timeout_ms, &message, &size, err);
	return r < 0 ? r : sw_varlink_answer_parse(message, size, ret, err);
}

int sw_varlink_client_receive_text(struct sw_varlink_client *client, int timeout_ms,
				   struct sw_varlink_answer *ret, const char **ret_text,
				   size_t *ret_size, struct sw_error *err)
{
	struct sw_json_part parameters;
	const char *message;
	size_t size;
	int r = receive(client, timeout_ms, &message, &size, err);
	if (r == 0)
		r = sw_varlink_answer_cut(message, size, ret, &parameters, err);
	if (r < 0)
		return r;
	*ret_text = parameters.data;
	*ret_size = parameters.size;
	return 0;
}
