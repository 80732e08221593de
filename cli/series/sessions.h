/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_SESSIONS_H
#define SW_CLI_SESSIONS_H

#include <snapwalk/pipeline.h>

/*
 * Sessions, one after another. A session keeps each file that it has met, with what was read of it: where processes come and go
 * it would grow for ever. So the next processes are of the next session when that many have ended in one, or its files are that
 * large; a session ends with the last process of its own.
 */
enum {
	SW_SESSIONS_MAX = 4,        /* at once */
	SW_SESSION_ENDED_MAX = 32,  /* processes that left one */
	SW_SESSION_ENDED_LARGE = 4, /* likewise, where its files are larger than */
	SW_SESSION_BYTES_MAX = 256 << 20,
};

struct sw_sessions {
	struct sw_sessions_one {
		struct sw_session *session; /* owned */
		size_t n_users, n_begun;
	} all[SW_SESSIONS_MAX]; /* the oldest first; the last one is that of the next process */
	size_t n;
};

/* The session of one process more, until sw_sessions_leave(). 0; -SW_E_LIMIT: there are too many, see sw_sessions_oldest();
 * -SW_E_NOMEM. */
int sw_sessions_join(struct sw_sessions *sessions, struct sw_session **ret, struct sw_error *err);
void sw_sessions_leave(struct sw_sessions *sessions, const struct sw_session *session);
/* The one that is in the way: it ends when its processes leave it. NULL: there is space. */
const struct sw_session *sw_sessions_oldest(const struct sw_sessions *sessions);
void sw_sessions_deinit(struct sw_sessions *sessions);

#endif
