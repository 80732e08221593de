/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "series/sessions.h"
#include "test.h"

#include <errors.h>
#include <snapwalk/snapshot.h>
#include <sys/stat.h>

static struct sw_session *join(struct sw_sessions *s)
{
	struct sw_session *session = NULL;
	assert_int_equal(sw_sessions_join(s, &session, NULL), 0);
	return session;
}

/* Makes processes that come and end, until the next one is of another session. */
static void fill(struct sw_sessions *s)
{
	for (int i = 0; i < SW_SESSION_ENDED_MAX; i++)
		sw_sessions_leave(s, join(s));
}

/* Processes that live are of one session, however many there are. */
TEST(one_session_of_those_that_live)
{
	enum { MANY = 512 };
	struct sw_sessions s = {0};
	struct sw_session *first = join(&s);
	for (int i = 1; i < MANY; i++)
		assert_ptr_equal(join(&s), first);
	for (int i = 0; i < SW_SESSION_ENDED_MAX - 1; i++)
		sw_sessions_leave(&s, first);
	assert_ptr_equal(join(&s), first);
	assert_int_equal(s.n, 1);
	sw_sessions_deinit(&s);
}

/* A session whose processes have all ended ends when it is full. */
TEST(ends_with_the_last)
{
	struct sw_sessions s = {0};
	struct sw_session *stays = join(&s);
	fill(&s);
	struct sw_session *second = join(&s);
	assert_ptr_not_equal(second, stays);
	assert_int_equal(s.n, 2);
	sw_sessions_leave(&s, stays);
	assert_int_equal(s.n, 1);
	assert_ptr_equal(s.all[0].session, second);
	fill(&s);
	sw_sessions_leave(&s, second); /* the last of a full one, which is the current one still */
	assert_int_equal(s.n, 1);
	(void) join(&s);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.all[0].n_begun, 1);
	sw_sessions_deinit(&s);
	assert_int_equal(s.n, 0);
}

/* The oldest is in the way only when the next process needs one more. */
TEST(the_oldest_is_in_the_way)
{
	struct sw_sessions s = {0};
	struct sw_session *stays[SW_SESSIONS_MAX];
	for (int i = 0; i < SW_SESSIONS_MAX; i++) {
		assert_null(sw_sessions_oldest(&s));
		stays[i] = join(&s);
		fill(&s);
	}
	struct sw_session *next = NULL;
	assert_ptr_equal(sw_sessions_oldest(&s), stays[0]);
	assert_int_equal(sw_sessions_join(&s, &next, NULL), -SW_E_LIMIT);
	sw_sessions_leave(&s, stays[0]);
	assert_null(sw_sessions_oldest(&s));
	next = join(&s);
	assert_int_equal(s.n, SW_SESSIONS_MAX);
	assert_ptr_equal(s.all[SW_SESSIONS_MAX - 1].session, next);
	assert_ptr_equal(s.all[0].session, stays[1]);
	sw_sessions_deinit(&s);
}
