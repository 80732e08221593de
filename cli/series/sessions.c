/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "series/sessions.h"
#include "errors.h"

#include <snapwalk/snapshot.h>
#include <string.h>

static struct sw_sessions_one *current(struct sw_sessions *s)
{
	return s->n > 0 ? &s->all[s->n - 1] : NULL;
}

static bool is_full(const struct sw_sessions_one *one)
{
	size_t n_ended = one->n_begun - one->n_users, n_modules;
	uint64_t bytes;
	sw_context_size(sw_session_context(one->session), &n_modules, &bytes);
	return n_ended >= SW_SESSION_ENDED_MAX ||
	       (n_ended >= SW_SESSION_ENDED_LARGE && bytes >= SW_SESSION_BYTES_MAX);
}

static void end(struct sw_sessions *s, size_t i)
{
	sw_session_destroy(s->all[i].session);
	s->n--;
	memmove(&s->all[i], &s->all[i + 1], (s->n - i) * sizeof(s->all[0]));
}

const struct sw_session *sw_sessions_oldest(const struct sw_sessions *s)
{
	return s->n == SW_SESSIONS_MAX && is_full(&s->all[s->n - 1]) ? s->all[0].session : NULL;
}

int sw_sessions_join(struct sw_sessions *s, struct sw_session **ret, struct sw_error *err)
{
	struct sw_sessions_one *one = current(s);
	if (one == NULL || is_full(one)) {
		struct sw_session *session = NULL;
		if (one != NULL && one->n_users == 0)
			end(s, s->n - 1);
		if (s->n == SW_SESSIONS_MAX)
			return sw_fail(err, SW_E_LIMIT, "more than %d sessions", SW_SESSIONS_MAX);
		int r = sw_session_create(&session, err);
		if (r < 0)
			return r;
		one = &s->all[s->n++];
		*one = (struct sw_sessions_one){.session = session};
	}
	one->n_users++;
	one->n_begun++;
	*ret = one->session;
	return 0;
}

void sw_sessions_leave(struct sw_sessions *s, const struct sw_session *session)
{
	size_t i = 0;
	while (i < s->n && s->all[i].session != session)
		i++;
	if (i == s->n)
		return;
	s->all[i].n_users--;
	if (s->all[i].n_users == 0 && i + 1 < s->n)
		end(s, i);
}

void sw_sessions_deinit(struct sw_sessions *s)
{
	while (s->n > 0)
		end(s, s->n - 1);
}
