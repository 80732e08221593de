/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "worker_parts.h"
#include "cleanup.h"
#include "errors.h"

#include <sys/uio.h>

int sw_worker_event_write(int stream, enum sw_worker_event_type type, const void *payload,
			  size_t size, struct sw_error *err)
{
	struct sw_worker_event event = {.type = type, .size = (uint32_t) size};
	if (size > UINT32_MAX)
		return sw_fail(err, SW_E_LIMIT, "an event of %zu bytes", size);
	struct iovec parts[2] = {{&event, sizeof(event)}, {(void *) payload, size}};
	size_t left = sizeof(event) + size;
	while (left > 0) {
		ssize_t n = writev(stream, parts, SW_ARRAY_SIZE(parts));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return sw_fail_errno(err, SW_E_IO, "the broker does not listen any more");
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
