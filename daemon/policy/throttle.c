/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/throttle.h"
#include "cleanup.h"

#include <string.h>

enum {
	LIMITS_UIDS_MAX = 1024,
	LIMITS_TARGETS_MAX = 512,
	WINDOW_S = 60,
	/* The number of slots is one more than the window has seconds, as the oldest is only partly
	 * in it: the sum is that of 60 s or a little more, never less. */
	SLOTS = WINDOW_S + 1,
};

static const int64_t NS_PER_S = 1000000000, NS_PER_MS = 1000000;

/*
 * A token bucket as one number (the generic cell rate algorithm: ITU-T I.371, annex A): the time at
 * which the bucket will be full again.
 */
struct bucket {
	uid_t uid;
	int64_t used_ns; /* of the last question, for choosing the oldest */
	int64_t full_ns;
};

/* How long a target was stopped in each of the last seconds. */
struct budget {
	pid_t pid;
	uint64_t starttime;
	int64_t used_ns;
	int64_t slot_s;      /* the second of the newest slot */
	uint32_t us[SLOTS];  /* by second modulo SLOTS */
	uint32_t longest_us; /* of the stops since all slots were 0: what the next may take */
};

struct sw_limits {
	struct bucket buckets[LIMITS_UIDS_MAX];
	size_t n_buckets;
	struct budget budgets[LIMITS_TARGETS_MAX];
	size_t n_budgets;
	int64_t token_ns;  /* one token each; 0: no limit */
	int64_t burst_ns;  /* tokens that may be taken at once, less one */
	int64_t budget_us; /* in WINDOW_S; 0: no limit */
};

int sw_limits_create(const struct sw_config *config, struct sw_limits **ret)
{
	struct sw_limits *limits = calloc(1, sizeof(*limits));
	if (limits == NULL)
		return -SW_E_NOMEM;
	sw_limits_reconfigure(limits, config);
	*ret = limits;
	return 0;
}

void sw_limits_destroy(struct sw_limits *limits)
{
	free(limits);
}

void sw_limits_reconfigure(struct sw_limits *limits, const struct sw_config *config)
{
	int64_t rate = config->rate_per_minute, burst = config->rate_burst;
	limits->token_ns = rate > 0 ? 60 * NS_PER_S / rate : 0;
	limits->burst_ns = burst > 1 ? (burst - 1) * limits->token_ns : 0;
	/* WINDOW_S * 10^6 us * percent / 100, percent in hundredths */
	limits->budget_us = (int64_t) WINDOW_S * 100 * config->stop_percent_x100;
}

/* Rounded up, so that a caller who waits that long need not wait again. */
static uint32_t wait_ms(int64_t wait_ns)
{
	int64_t ms = (wait_ns + NS_PER_MS - 1) / NS_PER_MS;
	return ms > UINT32_MAX ? UINT32_MAX : ms < 1 ? 1 : (uint32_t) ms;
}

/* ---- uids ------------------------------------------------------------------------------------ */

static struct bucket *bucket_find(struct sw_limits *limits, uid_t uid)
{
	struct bucket *oldest = &limits->buckets[0];
	for (size_t i = 0; i < limits->n_buckets; i++) {
		struct bucket *b = &limits->buckets[i];
		if (b->uid == uid)
			return b;
		if (b->used_ns < oldest->used_ns)
			oldest = b;
	}
	struct bucket *b = limits->n_buckets < LIMITS_UIDS_MAX
				   ? &limits->buckets[limits->n_buckets++]
				   : oldest;
	*b = (struct bucket){.uid = uid, .full_ns = INT64_MIN};
	return b;
}

uint32_t sw_limits_take(struct sw_limits *limits, uid_t uid, int64_t now_ns)
{
	if (uid == 0 || limits->token_ns == 0)
		return 0;
	struct bucket *b = bucket_find(limits, uid);
	b->used_ns = now_ns;
	if (b->full_ns < now_ns)
		b->full_ns = now_ns;
	int64_t missing_ns = b->full_ns - now_ns - limits->burst_ns;
	if (missing_ns > 0)
		return wait_ms(missing_ns);
	b->full_ns += limits->token_ns;
	return 0;
}

/* ---- targets --------------------------------------------------------------------------------- */

static struct budget *budget_find(struct sw_limits *limits, pid_t pid, uint64_t starttime)
{
	for (size_t i = 0; i < limits->n_budgets; i++)
		if (limits->budgets[i].pid == pid && limits->budgets[i].starttime == starttime)
			return &limits->budgets[i];
	return NULL;
}

static struct budget *budget_add(struct sw_limits *limits, pid_t pid, uint64_t starttime)
{
	struct budget *b = &limits->budgets[0];
	for (size_t i = 1; i < limits->n_budgets; i++)
		if (limits->budgets[i].used_ns < b->used_ns)
			b = &limits->budgets[i];
	if (limits->n_budgets < LIMITS_TARGETS_MAX)
		b = &limits->budgets[limits->n_budgets++];
	*b = (struct budget){.pid = pid, .starttime = starttime};
	return b;
}

/* Forgets the seconds that have left the window; the sum of the others. */
static int64_t budget_advance(struct budget *b, int64_t now_ns)
{
	int64_t now_s = now_ns / NS_PER_S, sum_us = 0;
	for (int i = 0; i < SLOTS && b->slot_s < now_s; i++)
		b->us[++b->slot_s % SLOTS] = 0;
	if (b->slot_s < now_s)
		b->slot_s = now_s; /* all are 0 */
	for (int i = 0; i < SLOTS; i++)
		sum_us += b->us[i];
	if (sum_us == 0)
		b->longest_us = 0;
	b->used_ns = now_ns;
	return sum_us;
}

uint32_t sw_limits_target(struct sw_limits *limits, pid_t pid, uint64_t starttime, int64_t now_ns)
{
	struct budget *b = budget_find(limits, pid, starttime);
	if (b == NULL || limits->budget_us == 0)
		return 0;
	int64_t sum_us = budget_advance(b, now_ns);
	/* The oldest seconds leave one by one until there is space for a stop as long as the longest;
	 * with nothing left in the window there is space for any, or there would never be. */
	for (int i = 1; i <= SLOTS; i++) {
		if (sum_us == 0 || sum_us + b->longest_us <= limits->budget_us)
			return i == 1 ? 0 : wait_ms((b->slot_s + i - 1) * NS_PER_S - now_ns);
		sum_us -= b->us[(b->slot_s + i) % SLOTS];
	}
	return wait_ms((b->slot_s + SLOTS) * NS_PER_S - now_ns);
}

static uint32_t us_of(int64_t us)
{
	return us > INT32_MAX ? INT32_MAX : us < 0 ? 0 : (uint32_t) us;
}

void sw_limits_stopped(struct sw_limits *limits, pid_t pid, uint64_t starttime, int64_t stopped_us,
		       int64_t longest_us, int64_t now_ns)
{
	if (stopped_us <= 0)
		return;
	struct budget *b = budget_find(limits, pid, starttime);
	if (b == NULL)
		b = budget_add(limits, pid, starttime);
	(void) budget_advance(b, now_ns); /* only the forgetting matters here */
	uint32_t us = us_of(stopped_us), longest = us_of(longest_us);
	uint32_t *slot = &b->us[b->slot_s % SLOTS];
	if (__builtin_add_overflow(*slot, us, slot))
		*slot = UINT32_MAX;
	if (longest > b->longest_us)
		b->longest_us = longest;
}
