/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "confine/owner.h"
#include "confine/caps.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

bool sw_owner_can_become(uid_t uid, gid_t gid)
{
	const uint64_t needed = UINT64_C(1) << CAP_SETUID | UINT64_C(1) << CAP_SETGID;
	return geteuid() != 0 || (uid == 0 && gid == 0) || sw_caps_have(needed);
}

/* By the system calls: glibc's setgroups() is of all threads, of which there is one. */
void sw_owner_become(uid_t uid, gid_t gid)
{
	int death_signal = 0;
	pid_t parent = getppid();
	if (syscall(SYS_setgroups, 0, NULL) < 0)
		return;
	(void) prctl(PR_GET_PDEATHSIG, &death_signal); /* cannot fail */
	/* The group first: the user takes the capability for it. Neither says whether it was done. */
	(void) syscall(SYS_setfsgid, gid);
	(void) syscall(SYS_setfsuid, uid);
	/* Another fsuid or fsgid clears the signal at the end of the parent: prctl(2). */
	if (death_signal == 0)
		return;
	(void) prctl(PR_SET_PDEATHSIG, death_signal); /* cannot fail */
	if (getppid() != parent)
		_exit(1);
}
