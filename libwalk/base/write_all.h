/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WRITE_ALL_H
#define SW_WRITE_ALL_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

/* Writes size bytes to a file that blocks, however many calls that takes. False with errno: some may
 * have been written. */
static inline bool sw_write_all(int fd, const void *data, size_t size)
{
	const uint8_t *p = data;
	while (size > 0) {
		ssize_t n = write(fd, p, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		p += n;
		size -= (size_t) n;
	}
	return true;
}

#endif
