/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/first.h"
#include "daemon/call.h"

#include <confine/caps.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ALIVE_MS = 5000 };

static bool take_any(void *arg, struct json_object *parameters, struct sw_complaint *why)
{
	(void) arg;
	(void) parameters;
	(void) why;
	return true;
}

/* The kernel accepts connections for a daemon that is stopped or hangs. Its answer to a capture would be waited for
 * much longer, and for each process once more. Any answer will do. */
static bool is_silent(const struct sw_options *options)
{
	static bool was_silent;
	struct sw_complaint why;
	if (!was_silent) {
		(void) sw_daemon_call(options, "org.varlink.service.GetInfo",
				      json_object_new_object(), false, ALIVE_MS, take_any, NULL,
				      &why);
		was_silent = why.code != NULL && strcmp(why.code, "timeout") == 0;
	}
	return was_silent;
}

enum sw_daemon_state sw_daemon_state(const struct sw_options *options)
{
	if (!sw_daemon_listens(options))
		return SW_DAEMON_ABSENT;
	return is_silent(options) ? SW_DAEMON_SILENT : SW_DAEMON_ANSWERS;
}

bool sw_daemon_is_first(const struct sw_options *options)
{
	static const uint64_t without_stop =
		UINT64_C(1) << CAP_SYS_PTRACE | UINT64_C(1) << CAP_PERFMON | UINT64_C(1) << CAP_BPF;
	return options->via == SW_VIA_AUTO && options->snapshot.stop != SW_STOP_ALWAYS &&
	       geteuid() != 0 && !sw_caps_have(without_stop) &&
	       sw_daemon_of_others_listens(options) && !is_silent(options);
}

bool sw_may_capture_directly(pid_t pid)
{
	char path[32];
	struct stat st;
	(void) snprintf(path, sizeof(path), "/proc/%d", (int) pid); /* fits */
	return geteuid() == 0 || (stat(path, &st) == 0 && st.st_uid == geteuid());
}
