/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/log_limit.h"

static const int64_t WINDOW_NS = SW_LOG_LIMIT_S * INT64_C(1000000000);

static bool is_over(const struct sw_log_user *user, int64_t now_ns)
{
	return now_ns - user->begin_ns >= WINDOW_NS;
}

/* NULL: the table is full of users who are in their minute. */
static struct sw_log_user *find(struct sw_log_limit *limit, uid_t uid, int64_t now_ns)
{
	struct sw_log_user *free_one = NULL;
	for (size_t i = 0; i < limit->n_users; i++) {
		struct sw_log_user *user = &limit->users[i];
		if (user->uid == uid)
			return user;
		if (is_over(user, now_ns) && user->left_out == 0)
			free_one = user;
	}
	if (free_one == NULL && limit->n_users < SW_LOG_LIMIT_USERS)
		free_one = &limit->users[limit->n_users++];
	if (free_one != NULL)
		*free_one = (struct sw_log_user){.uid = uid, .begin_ns = now_ns};
	return free_one;
}

bool sw_log_limit_take(struct sw_log_limit *limit, uid_t uid, int64_t now_ns)
{
	struct sw_log_user *user = find(limit, uid, now_ns);
	if (user == NULL)
		return false; /* more users than anybody could read of */
	if (is_over(user, now_ns) && user->left_out == 0)
		*user = (struct sw_log_user){.uid = uid, .begin_ns = now_ns};
	if (!is_over(user, now_ns) && user->n >= SW_LOG_LIMIT_ENTRIES) {
		user->left_out++;
		return false;
	}
	user->n++;
	return true;
}

uint64_t sw_log_limit_left_out(struct sw_log_limit *limit, int64_t now_ns, uid_t *ret_uid)
{
	for (size_t i = 0; i < limit->n_users; i++) {
		struct sw_log_user *user = &limit->users[i];
		if (user->left_out == 0 || !is_over(user, now_ns))
			continue;
		uint64_t left_out = user->left_out;
		*ret_uid = user->uid;
		*user = (struct sw_log_user){.uid = user->uid, .begin_ns = now_ns, .n = 1};
		return left_out;
	}
	return 0;
}
