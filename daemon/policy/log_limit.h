/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_POLICY_LOG_LIMIT_H
#define SW_DAEMON_POLICY_LOG_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	SW_LOG_LIMIT_USERS = 64,
	SW_LOG_LIMIT_ENTRIES = 60, /* of one user, in SW_LOG_LIMIT_S */
	SW_LOG_LIMIT_S = 60,
};

/* How much of the journal each user may have, or each rule. Zero-initialised is a valid one. */
struct sw_log_limit {
	struct sw_log_user {
		uid_t uid;
		int64_t begin_ns; /* of its minute */
		uint64_t n, left_out;
	} users[SW_LOG_LIMIT_USERS];
	size_t n_users;
};

/* May there be one more entry for this user? Otherwise it is counted. */
bool sw_log_limit_take(struct sw_log_limit *limit, uid_t uid, int64_t now_ns);
/* How many were left out for *ret_uid in a minute that is over; 0: for nobody. Forgets them. */
uint64_t sw_log_limit_left_out(struct sw_log_limit *limit, int64_t now_ns, uid_t *ret_uid);

#endif
