/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "own_fd.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

void sw_own_fd_name(int fd, char ret[static SW_OWN_FD_BYTES])
{
	(void) snprintf(ret, SW_OWN_FD_BYTES, "/proc/self/fd/%d", fd); /* fits */
}

bool sw_own_fd_path(int fd, char *ret, size_t bytes)
{
	char name[SW_OWN_FD_BYTES];
	sw_own_fd_name(fd, name);
	ssize_t n = readlink(name, ret, bytes);
	bool fits = n > 0 && (size_t) n < bytes;
	ret[fits ? n : 0] = '\0';
	return fits;
}

int sw_own_fd_open(int fd, int flags)
{
	char name[SW_OWN_FD_BYTES];
	sw_own_fd_name(fd, name);
	return open(name, flags | O_CLOEXEC);
}

int sw_own_fd_open_to_read(int fd)
{
	return sw_own_fd_open(fd, O_RDONLY | O_NOCTTY | O_NONBLOCK);
}
