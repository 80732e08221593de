/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sample/rests.h"
#include "test.h"

static const int64_t MS = 1000000, S = 1000000000;

/* The pause after a wait is twenty times as long, and grows up to five minutes as long as nothing answers. */
TEST(test_grows)
{
	struct sw_rests_all all = {.begin_ns = 100 * S};
	struct sw_rests rests = {0};
	const struct sw_rests_look fails = {.waited_ns = 250 * MS, .failed = true};
	int64_t now_ns = all.begin_ns, last_ns = 0;
	for (int i = 0; i < 12; i++) {
		assert_true(sw_rests_note(&rests, &all, now_ns, &fails));
		int64_t rest_ns = rests.until_ns - now_ns;
		assert_int_equal(rest_ns, i == 0              ? 5 * S
					  : last_ns < 150 * S ? 2 * last_ns
							      : 300 * S);
		last_ns = rest_ns;
		now_ns = rests.until_ns;
	}
	assert_int_equal(all.waited_ns, 12 * 250 * MS);
	assert_false(sw_rests_note(&rests, &all, now_ns, &(struct sw_rests_look){0}));
	assert_int_equal(rests.until_ns, 0);
	assert_true(sw_rests_note(&rests, &all, now_ns, &fails));
	assert_int_equal(rests.until_ns - now_ns, 5 * S);
}

/* A server that answers is no reason for a pause, unless it takes long. */
TEST(test_which)
{
	static const struct {
		struct sw_rests_look look;
		int64_t rest_ns;
	} all_cases[] = {
		{{.waited_ns = 49 * MS}, 0},
		{{.waited_ns = 50 * MS}, 1 * S},
		{{.waited_ns = 100 * MS}, 2 * S},
		{{.waited_ns = 10 * MS, .failed = true}, 1 * S},
		{{.failed = true}, 0}, /* for another reason */
		{{.copied_ns = 999 * MS}, 0},
		{{.copied_ns = 1000 * MS}, 20 * S},
		{{.waited_ns = 50 * MS, .copied_ns = 50 * MS}, 2 * S},
	};
	for (size_t i = 0; i < sizeof(all_cases) / sizeof(all_cases[0]); i++) {
		struct sw_rests_all all = {0};
		struct sw_rests rests = {0};
		bool rests_now = sw_rests_note(&rests, &all, 7 * S, &all_cases[i].look);
		assert_int_equal(rests_now, all_cases[i].rest_ns > 0);
		assert_int_equal(rests.until_ns,
				 all_cases[i].rest_ns > 0 ? 7 * S + all_cases[i].rest_ns : 0);
	}
}

/* However many processes there are, all of them together are waited for a twentieth of the time, and a second. */
TEST(test_share)
{
	struct sw_rests_all all = {.begin_ns = 5 * S};
	int64_t now_ns = all.begin_ns, waited_ns = 0;
	assert_int_equal(sw_rests_patience_ms(&all, now_ns), 250);
	for (int i = 0; i < 1000; i++) {
		struct sw_rests rests = {0};
		int64_t patience_ns = sw_rests_patience_ms(&all, now_ns) * MS;
		assert_true(patience_ns >= 10 * MS && patience_ns <= 250 * MS);
		now_ns += patience_ns + 400 * MS;
		waited_ns += patience_ns;
		(void) sw_rests_note(&rests, &all, now_ns,
				     &(struct sw_rests_look){.waited_ns = patience_ns,
							     .failed = true});
	}
	assert_true(waited_ns <= 1 * S + (now_ns - all.begin_ns) / 20);
	all.waited_ns = 100 * (now_ns - all.begin_ns);
	assert_int_equal(sw_rests_patience_ms(&all, now_ns), 10);
}
