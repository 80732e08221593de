/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "waits/visible.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

bool sw_all_processes_listed(void)
{
	/* PROC_PID_INIT_INO in include/linux/proc_ns.h, v3.8 to v6.18: the first pid namespace. In any other
	 * one the processes outside have no number. */
	static const char first[] = "pid:[4026531836]";
	char link[64];
	ssize_t n = readlinkat(AT_FDCWD, "/proc/self/ns/pid", link, sizeof(link));
	if (n != (ssize_t) strlen(first) || memcmp(link, first, (size_t) n) != 0)
		return false;
	/* proc(5), hidepid=2: those of others are not there. The first one is always another's. */
	return faccessat(AT_FDCWD, "/proc/1", F_OK, 0) == 0;
}

/*
 * Where the machine is a guest, its first process may be its host's, which refuses root, too. It is taken for
 * one that has no part in what others wait for, which is not proven; else no search would ever be complete.
 */
bool sw_process_may_hide_end(pid_t pid)
{
	return pid != 1;
}
