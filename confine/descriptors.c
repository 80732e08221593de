/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "confine/descriptors.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	FIRST_FD = 3,
	MOVED_FD =
		64, /* out of the way, at first: they may be one of the first three, when these were closed */
	FDS_CLOSE_MAX = 65536,
};

void sw_confine_descriptors(int *const needed[], size_t n)
{
	int next = FIRST_FD;
	for (size_t i = 0; i < n; i++)
		if (*needed[i] >= 0 &&
		    (*needed[i] = fcntl(*needed[i], F_DUPFD_CLOEXEC, MOVED_FD)) < 0)
			_exit(1);
	for (size_t i = 0; i < n; i++) {
		if (*needed[i] < 0)
			continue;
		if (dup3(*needed[i], next, O_CLOEXEC) < 0)
			_exit(1);
		*needed[i] = next++;
	}
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null_fd < 0 || dup2(null_fd, 0) < 0 || dup2(null_fd, 1) < 0 || dup2(null_fd, 2) < 0)
		_exit(1);
	if (syscall(SYS_close_range, next, ~0U, 0) < 0) /* Linux 5.9 */
		for (int i = next; i < FDS_CLOSE_MAX; i++)
			(void) close(i); /* most are not open */
}
