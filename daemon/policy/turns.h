/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_POLICY_TURNS_H
#define SW_DAEMON_POLICY_TURNS_H

#include <stddef.h>
#include <sys/types.h>

enum { SW_TURNS_MAX = 64 };

/* The users in the order of their last turns. Zero-initialised: nobody had one. */
struct sw_turns {
	uid_t users[SW_TURNS_MAX]; /* the latest at the end; the one longest ago is forgotten */
	size_t n;
};

/* The later it was, the higher; 0: never. */
size_t sw_turns_of(const struct sw_turns *turns, uid_t uid);
void sw_turns_had(struct sw_turns *turns, uid_t uid);

#endif
