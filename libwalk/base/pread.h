/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PREAD_H
#define SW_PREAD_H

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

/*
 * Reads length bytes at an offset, however many calls that takes, and returns how many there are. When
 * that is fewer, errno says why: 0 is the end of the file. Nothing is allocated: also for the stop.
 */
static inline size_t sw_pread(int fd, void *buffer, size_t length, uint64_t off)
{
	size_t got = 0;
	errno = 0;
	while (got < length && off <= INT64_MAX - got) {
		ssize_t n = pread(fd, (uint8_t *) buffer + got, length - got, (off_t) (off + got));
		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			errno = 0; /* a call before may have set it */
		if (n <= 0)
			return got;
		got += (size_t) n;
	}
	if (got < length)
		errno = EINVAL; /* there are no such offsets */
	return got;
}

#endif
