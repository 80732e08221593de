/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "worker/turn.h"
#include "cleanup.h"

#include <snapwalk/clock.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>

enum { AGAIN_NS = 500000 };

int sw_turns_create(void)
{
	int fd = memfd_create("snapwalk-turns", MFD_CLOEXEC);
	return fd >= 0 ? fd : -EBADF;
}

static bool lock(int fd, pid_t pid, short type)
{
	struct flock byte = {.l_type = type, .l_whence = SEEK_SET, .l_start = pid, .l_len = 1};
	return fcntl(fd, F_SETLK, &byte) == 0;
}

bool sw_turn_take(int turns_fd, pid_t pid, int wait_ms)
{
	const int64_t end_ms = sw_clock_ms() + wait_ms;
	const struct timespec again = {.tv_nsec = AGAIN_NS};
	if (turns_fd < 0)
		return true;
	while (!lock(turns_fd, pid, F_WRLCK)) {
		if (sw_clock_ms() >= end_ms)
			return false;
		(void) nanosleep(&again, NULL); /* a signal: asked again sooner */
	}
	return true;
}

void sw_turn_give(int turns_fd, pid_t pid)
{
	if (turns_fd >= 0)
		(void) lock(turns_fd, pid, F_UNLCK); /* cannot fail */
}
