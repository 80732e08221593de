/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sample/rests.h"

enum {
	NS_PER_MS = 1000000,
	PATIENCE_MS = 250,
	PATIENCE_MIN_MS = 10, /* a lock that is given back soon; and a busy machine */
	SHARE = 20,           /* one part in so many of the time is waited, */
	FREE_MS = 1000,       /* and this at first */
	WAITED_MS = 50,       /* a server that answers takes less for all files of a process, */
	COPIED_MS = 1000,     /* and for their copies, which are made once */
	REST_MIN_MS = 1000,
};

static const int64_t REST_MAX_NS = INT64_C(300000) * NS_PER_MS;

uint32_t sw_rests_patience_ms(const struct sw_rests_all *all, int64_t now_ns)
{
	int64_t left_ns =
		FREE_MS * (int64_t) NS_PER_MS + (now_ns - all->begin_ns) / SHARE - all->waited_ns;
	if (left_ns < PATIENCE_MIN_MS * (int64_t) NS_PER_MS)
		return PATIENCE_MIN_MS;
	return left_ns < PATIENCE_MS * (int64_t) NS_PER_MS ? (uint32_t) (left_ns / NS_PER_MS)
							   : PATIENCE_MS;
}

bool sw_rests_note(struct sw_rests *rests, struct sw_rests_all *all, int64_t now_ns,
		   const struct sw_rests_look *look)
{
	const int64_t waited_ns = look->waited_ns, copied_ns = look->copied_ns;
	all->waited_ns += waited_ns + copied_ns;
	if (waited_ns < WAITED_MS * (int64_t) NS_PER_MS &&
	    copied_ns < COPIED_MS * (int64_t) NS_PER_MS && !(look->failed && waited_ns > 0)) {
		*rests = (struct sw_rests){0};
		return false;
	}
	int64_t rest_ns = (waited_ns + copied_ns) * SHARE;
	if (rest_ns < REST_MIN_MS * (int64_t) NS_PER_MS)
		rest_ns = REST_MIN_MS * (int64_t) NS_PER_MS;
	if (rest_ns < 2 * rests->rest_ns)
		rest_ns = 2 * rests->rest_ns;
	rests->rest_ns = rest_ns < REST_MAX_NS ? rest_ns : REST_MAX_NS;
	rests->until_ns = now_ns + rests->rest_ns;
	return true;
}
