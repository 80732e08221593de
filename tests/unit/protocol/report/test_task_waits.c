/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* report/task_waits: deadlocks of tasks. */
#include "report/task_waits.h"
#include "test.h"

enum { N = 6, BASE = 0x1000 };

static struct sw_report_task_wait waits[N];

/* Task i waits for who has owners[i]: 0 nobody, else BASE + 16 * number. limited: a bit for each. */
static struct sw_report *made(const int owners[N], unsigned limited)
{
	static const char *const names[N] = {"a", "b", "c", "d", "e", "f"};
	struct sw_report *r = sw_report_create();
	assert_non_null(r);
	for (size_t i = 0; i < N; i++)
		waits[i] = (struct sw_report_task_wait){
			.runtime = "cpython",
			/* not in the order of their addresses */
			.address_avma = BASE + 16 * (uint64_t) ((i * 5) % N),
			.name = names[i],
			.kind = "asyncio_lock",
			.owner_avma =
				owners[i] < 0 ? 0 : BASE + 16 * (uint64_t) ((owners[i] * 5) % N),
			.limited = (limited >> i & 1) != 0,
		};
	r->task_waits = waits;
	r->n_task_waits = N;
	assert_true(sw_report_find_task_deadlocks(r, &r->priv->arena));
	return r;
}

static void has(const int owners[N], unsigned limited, const char *wanted)
{
	char text[64] = "";
	struct sw_report *r = made(owners, limited);
	for (size_t i = 0; i < r->n_task_deadlocks; i++) {
		for (size_t k = 0; k < r->task_deadlocks[i].n; k++)
			strcat(text, waits[r->task_deadlocks[i].waits[k]].name);
		strcat(text, " ");
	}
	assert_string_equal(text, wanted);
	sw_report_destroy(r);
}

TEST(test_cycles)
{
	has((const int[N]){1, 0, -1, -1, -1, -1}, 0, "ab ");
	has((const int[N]){1, 2, 0, 0, 3, -1}, 0, "abc "); /* with those that wait for it */
	has((const int[N]){1, 0, 3, 2, -1, -1}, 0, "ab cd ");
	has((const int[N]){-1, -1, -1, -1, -1, 5}, 0, "f "); /* itself */
	has((const int[N]){1, 2, 3, 4, 5, -1}, 0, "");
	has((const int[N]){5, 5, 5, 5, 5, -1}, 0, "");
	has((const int[N]){1, 2, 3, 4, 5, 0}, 0, "abcdef ");
}

TEST(test_a_time_limit_ends_it)
{
	for (unsigned i = 0; i < 3; i++)
		has((const int[N]){1, 2, 0, -1, -1, -1}, 1u << i, "");
	has((const int[N]){1, 2, 0, 0, -1, -1}, 1u << 3, "abc "); /* who only waits for it */
}

TEST(test_owners_that_do_not_wait)
{
	struct sw_report *r = made((const int[N]){1, 0, -1, -1, -1, -1}, 0);
	waits[0].owner_avma = BASE + 8;
	waits[1].owner_avma = UINT64_MAX;
	assert_true(sw_report_find_task_deadlocks(r, &r->priv->arena));
	r->n_task_deadlocks = 0;
	assert_true(sw_report_find_task_deadlocks(r, &r->priv->arena));
	assert_int_equal(r->n_task_deadlocks, 0);
	/* Two with one address, as no process has them. */
	waits[1] = waits[0];
	assert_true(sw_report_find_task_deadlocks(r, &r->priv->arena));
	sw_report_destroy(r);
}
