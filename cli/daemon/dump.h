/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_DAEMON_DUMP_H
#define SW_CLI_DAEMON_DUMP_H

#include "daemon/complaint.h"
#include "common/options.h"
#include "common/waiting.h"

struct sw_daemon_dump {
	char *text; /* owned; JSON */
	size_t size;
	struct sw_report
		*report; /* owned; NULL: it is complete and printed as it came, or a profile */
	char id[128], comm[64];
	int64_t time_ns; /* CLOCK_REALTIME; 0: unknown */
	bool coalesced, stored, complete, profile;
};

void sw_daemon_dump_deinit(struct sw_daemon_dump *dump);
/* Asks for a capture. False with *ret_why filled. */
bool sw_daemon_capture(const struct sw_options *options, pid_t pid, const char *reason,
		       struct sw_daemon_dump *ret, struct sw_complaint *ret_why);
/* Asks for a profile, as the options of sample say. Likewise. When such a signal comes, the profile ends with what was
 * sampled until then. */
bool sw_daemon_profile(const struct sw_options *options, pid_t pid, struct sw_stop_signals *stop,
		       struct sw_daemon_dump *ret, struct sw_complaint *ret_why);
/* A dump that is kept. */
bool sw_daemon_read(const struct sw_options *options, const char *id, struct sw_daemon_dump *ret,
		    struct sw_complaint *ret_why);
/* A dump that was made for somebody else, before begin_ns (CLOCK_REALTIME): says so. */
void sw_daemon_say_coalesced(const char *about, const struct sw_daemon_dump *dump,
			     int64_t begin_ns);

#endif
