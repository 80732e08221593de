/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_WORKER_WIRE_H
#define SW_DAEMON_WORKER_WIRE_H

#include "worker/messages.h"

#include <snapwalk/error.h>

/* Messages between broker and spawner: one structure each, no pointers in it. Both are
 * one program, so that sizes and layout agree. */

/* Broker to spawner; the descriptors that it names come with it, in this order. */
struct sw_spawner_order {
	uint64_t number;              /* from 1 on */
	bool with_target, with_names; /* a pidfd of the target; names.h */
	struct sw_worker_request request;
};

/* Broker to spawner; differs from an order by its size. */
struct sw_spawner_policy {
	uint64_t dump_bytes_max;
	bool require_same_namespace;
	char deny[SW_WORKER_DENY_MAX]; /* names one behind the other, an empty one at the end */
};

/* The names of its Deny=, in a list that ends with NULL, of pointers into the policy, whatever is in there.
 * malloc'ed; NULL: not enough memory. */
char **sw_wire_deny_list(struct sw_spawner_policy *policy);

/* Spawner to broker; pidfd and stream of the worker come with it when code is 0. */
struct sw_spawner_answer {
	uint64_t number; /* of the order; 0: what became of the spawner's own start */
	int32_t code;    /* 0 or SW_E_* */
	int32_t sys_errno;
	bool realtime_refused;              /* of number 0: to workers */
	struct sw_user_ns user_ns;          /* of a look */
	char message[SW_ERROR_MESSAGE_MAX]; /* of number 0 with code 0: spawner.iterator_refused */
};

enum { SW_WIRE_FDS_MAX = 2 };

/* 0, or -1 with errno. Never blocks, never raises SIGPIPE. */
int sw_wire_send(int fd, const void *message, size_t size, const int *fds, size_t n_fds);

/* Receive a message of at most size bytes and SW_WIRE_FDS_MAX descriptors, which the caller owns.
 * Returns how many bytes; 0: the other side is gone; -1 with errno, EBADMSG for a message with
 * more. */
ssize_t sw_wire_receive(int fd, void *message, size_t size, int fds[static SW_WIRE_FDS_MAX],
			size_t *ret_n_fds);

/* A namespace to be looked up; the process's pidfd comes with it. Differs from the others by its size. */
struct sw_spawner_look {
	uint64_t number;
	pid_t pid;
};

/* Writes one event. -SW_E_IO: the broker is gone. */
int sw_worker_event_write(int stream, enum sw_worker_event_type type, const void *payload,
			  size_t size, struct sw_error *err);
/* The same with a descriptor, which stays the caller's; negative: without. */
int sw_worker_event_send(int stream, enum sw_worker_event_type type, const void *payload,
			 size_t size, int fd, struct sw_error *err);

#endif
