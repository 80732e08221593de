/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_LAUNCHER_LAUNCHER_H
#define SW_DAEMON_LAUNCHER_LAUNCHER_H

#include "launcher/ondump.h"

/* Broker to launcher; the dump as a memfd comes with it. Answered by a sw_on_dump_result. All
 * strings end inside. */
struct sw_on_dump_order {
	char id[65];
	char comm[64];
	char reason[512]; /* "": none */
	int32_t pid;
};

/* User and group that the launcher switches to. */
struct sw_on_dump_user {
	char *name; /* owned; NULL: we stay who we are */
	uid_t uid;
	gid_t gid;
};

/* The launcher's whole life, in the forked child. */
__attribute__((noreturn)) void sw_on_dump_launcher(const struct sw_config *config,
						   const struct sw_on_dump_user *user, int fd);

#endif
