/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "worker/wire.h"
#include "cleanup.h"
#include "errors.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* Aligned as cmsg(3) asks for. */
union control {
	struct cmsghdr header;
	char space[CMSG_SPACE(SW_WIRE_FDS_MAX * sizeof(int))];
};

char **sw_wire_deny_list(struct sw_spawner_policy *policy)
{
	const char *end = policy->deny + sizeof(policy->deny);
	size_t n = 0;
	policy->deny[sizeof(policy->deny) - 1] = '\0';
	for (const char *p = policy->deny; p < end && *p != '\0'; p += strlen(p) + 1)
		n++;
	char **list = calloc(n + 1, sizeof(*list));
	if (list == NULL)
		return NULL;
	char *p = policy->deny;
	for (size_t i = 0; i < n; i++, p += strlen(p) + 1)
		list[i] = p;
	return list;
}

int sw_wire_send(int fd, const void *message, size_t size, const int *fds, size_t n_fds)
{
	union control control = {0};
	struct iovec bytes = {(void *) message, size}; /* sendmsg() does not write to it */
	struct msghdr header = {.msg_iov = &bytes, .msg_iovlen = 1};
	if (n_fds > 0) {
		header.msg_control = control.space;
		header.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
		control.header = (struct cmsghdr){.cmsg_len = CMSG_LEN(n_fds * sizeof(int)),
						  .cmsg_level = SOL_SOCKET,
						  .cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(&control.header), fds, n_fds * sizeof(int));
	}
	ssize_t n;
	do
		n = sendmsg(fd, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -1 : 0;
}

static size_t fds_take(struct msghdr *header, int *fds)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(header);
	if (c == NULL || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
		return 0;
	size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(fds, CMSG_DATA(c), n * sizeof(int)); /* what does not fit the kernel has closed */
	return n;
}

ssize_t sw_wire_receive(int fd, void *message, size_t size, int fds[static SW_WIRE_FDS_MAX],
			size_t *ret_n_fds)
{
	union control control;
	struct iovec bytes = {message, size};
	struct msghdr header = {.msg_iov = &bytes,
				.msg_iovlen = 1,
				.msg_control = control.space,
				.msg_controllen = sizeof(control.space)};
	ssize_t n;
	do
		n = recvmsg(fd, &header, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n;
	size_t n_fds = fds_take(&header, fds);
	if (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
		for (size_t i = 0; i < n_fds; i++)
			sw_close_p(&fds[i]);
		errno = EBADMSG;
		return -1;
	}
	*ret_n_fds = n_fds;
	return n;
}

/* Parts that are left to write, with a descriptor along the first byte. -1 with errno. */
static ssize_t send_parts(int stream, struct iovec *parts, size_t n_parts, int fd)
{
	union control control = {0};
	struct msghdr header = {.msg_iov = parts, .msg_iovlen = n_parts};
	if (fd < 0)
		return writev(stream, parts, (int) n_parts);
	header.msg_control = control.space;
	header.msg_controllen = CMSG_SPACE(sizeof(int));
	control.header = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)),
					  .cmsg_level = SOL_SOCKET,
					  .cmsg_type = SCM_RIGHTS};
	memcpy(CMSG_DATA(&control.header), &fd, sizeof(int));
	return sendmsg(stream, &header, MSG_NOSIGNAL);
}

int sw_worker_event_send(int stream, enum sw_worker_event_type type, const void *payload,
			 size_t size, int fd, struct sw_error *err)
{
	struct sw_worker_event event = {.type = type, .size = (uint32_t) size};
	if (size > UINT32_MAX)
		return sw_fail(err, SW_E_LIMIT, "an event of %zu bytes", size);
	struct iovec parts[2] = {{&event, sizeof(event)}, {(void *) payload, size}};
	size_t left = sizeof(event) + size;
	while (left > 0) {
		ssize_t n = send_parts(stream, parts, SW_ARRAY_SIZE(parts), fd);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return sw_fail_errno(err, SW_E_IO, "the broker does not listen any more");
		fd = -1;
		left -= (size_t) n;
		for (size_t i = 0; i < SW_ARRAY_SIZE(parts); i++) {
			size_t done = (size_t) n < parts[i].iov_len ? (size_t) n : parts[i].iov_len;
			parts[i].iov_base = (char *) parts[i].iov_base + done;
			parts[i].iov_len -= done;
			n -= (ssize_t) done;
		}
	}
	return 0;
}

int sw_worker_event_write(int stream, enum sw_worker_event_type type, const void *payload,
			  size_t size, struct sw_error *err)
{
	return sw_worker_event_send(stream, type, payload, size, -1, err);
}
