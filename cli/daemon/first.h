/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_DAEMON_FIRST_H
#define SW_CLI_DAEMON_FIRST_H

#include "common/options.h"

#include <sys/types.h>

enum sw_daemon_state {
	SW_DAEMON_ABSENT,  /* nobody listens on its socket */
	SW_DAEMON_SILENT,  /* somebody does, and gives no answer within 5 s */
	SW_DAEMON_ANSWERS, /* also by a refusal */
};
/* A daemon that was silent once is not asked again by this command. */
enum sw_daemon_state sw_daemon_state(const struct sw_options *options);

/* Whether the daemon is to be asked before the command tries it: the user would stop all threads of the process, and a
 * daemon of another user listens and answers, which stops none that waits. Not with --via, --stop always, or as root. */
bool sw_daemon_is_first(const struct sw_options *options);

/* Whether trying is worth it for the command: the kernel has the last word. */
bool sw_may_capture_directly(pid_t pid);

#endif
