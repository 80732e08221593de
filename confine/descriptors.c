/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "confine/descriptors.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FIRST_FD = 3, FDS_CLOSE_MAX = 65536 };

static void close_from_to(int first, int last)
{
	if (first > last || syscall(SYS_close_range, first, last, 0) == 0) /* Linux 5.9 */
		return;
	for (int fd = first; fd <= last && fd < FDS_CLOSE_MAX; fd++)
		(void) close(fd); /* most are not open */
}

/* The lowest of them that is not below a number; INT_MAX: there is none. */
static int next_of(int *const needed[], size_t n, int least)
{
	int next = INT_MAX;
	for (size_t i = 0; i < n; i++)
		if (*needed[i] >= least && *needed[i] < next)
			next = *needed[i];
	return next;
}

void sw_confine_descriptors(int *const needed[], size_t n)
{
	/* When the first three were closed, one of ours may be among them. */
	for (size_t i = 0; i < n; i++)
		if (*needed[i] >= 0 && *needed[i] < FIRST_FD &&
		    (*needed[i] = fcntl(*needed[i], F_DUPFD_CLOEXEC, FIRST_FD)) < 0)
			_exit(1);
	for (int first = 0, next; first != INT_MAX; first = next == INT_MAX ? next : next + 1) {
		next = next_of(needed, n, first);
		close_from_to(first, next == INT_MAX ? next : next - 1);
	}
	if (open("/dev/null", O_RDWR) != 0 || dup2(0, 1) < 0 || dup2(0, 2) < 0)
		_exit(1);
}
