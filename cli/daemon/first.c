/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/first.h"
#include "daemon/call.h"

#include <confine/caps.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

bool sw_daemon_is_first(const struct sw_options *options)
{
	static const uint64_t without_stop =
		UINT64_C(1) << CAP_SYS_PTRACE | UINT64_C(1) << CAP_PERFMON | UINT64_C(1) << CAP_BPF;
	return options->via == SW_VIA_AUTO && options->snapshot.stop != SW_STOP_ALWAYS &&
	       geteuid() != 0 && !sw_caps_have(without_stop) &&
	       sw_daemon_of_others_listens(options);
}

bool sw_may_capture_directly(pid_t pid)
{
	char path[32];
	struct stat st;
	(void) snprintf(path, sizeof(path), "/proc/%d", (int) pid); /* fits */
	return geteuid() == 0 || (stat(path, &st) == 0 && st.st_uid == geteuid());
}
