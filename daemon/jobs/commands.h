/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_JOBS_COMMANDS_H
#define SW_DAEMON_JOBS_COMMANDS_H

#include "jobs/dump.h"
#include "policy/turns.h"

#include <sys/queue.h>

enum {
	SW_COMMANDS_MAX = 64,     /* that wait; alerts have half of the places to themselves */
	SW_COMMANDS_USER_MAX = 8, /* of one user */
	SW_COMMANDS_BYTES_MAX = 128 << 20, /* of their dumps */
};

/* Dumps that wait for the command of OnDump=: those of alerts first, then the users in turn. */
struct sw_command {
	TAILQ_ENTRY(sw_command) link;
	struct sw_dump *dump; /* owned by the queue */
	char *reason;         /* the same; NULL: none */
	uid_t by;
	bool alert;
};

struct sw_commands {
	TAILQ_HEAD(sw_command_list, sw_command) list; /* oldest first */
	size_t n, bytes;
	struct sw_turns turns; /* of users */
};

void sw_commands_init(struct sw_commands *commands);
void sw_commands_deinit(struct sw_commands *commands);
/* Takes a reference. False: there is no space for this user. */
bool sw_commands_add(struct sw_commands *commands, struct sw_dump *dump, uid_t by, bool alert,
		     const char *reason);
/* The next one; what is in it stays the queue's until sw_commands_pop() removes it. */
bool sw_commands_peek(const struct sw_commands *commands, struct sw_command *ret);
void sw_commands_pop(struct sw_commands *commands);

#endif
