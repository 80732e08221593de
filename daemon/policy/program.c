/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/program.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int sw_program_fd(int proc_fd)
{
	return openat(proc_fd, "pagemap", O_RDONLY | O_CLOEXEC);
}

bool sw_program_runs(int fd)
{
	char byte;
	return fd >= 0 && pread(fd, &byte, sizeof(byte), 0) < 0 && errno == EINVAL;
}
