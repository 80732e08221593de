/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>
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

static bool file_find(int dir_fd, const char *path, struct statx *ret)
{
	return statx(dir_fd, path, AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, STATX_INO, ret) == 0 &&
	       (ret->stx_mask & STATX_INO) != 0;
}

bool sw_program_is_listed(int proc_fd, char *const *list)
{
	struct statx own, other;
	bool looked = false;
	for (; list != NULL && *list != NULL; list++) {
		if ((*list)[0] != '/')
			continue;
		if (!looked && !file_find(proc_fd, "exe", &own))
			return false; /* it has ended, or the capture fails */
		looked = true;
		if (file_find(AT_FDCWD, *list, &other) && own.stx_ino == other.stx_ino &&
		    own.stx_dev_major == other.stx_dev_major &&
		    own.stx_dev_minor == other.stx_dev_minor)
			return true;
	}
	return false;
}
