/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A child that does nothing with the dumps that it is given. */
#include "run/obtain.h"
#include "run/sandbox.h"
#include "test.h"

#include <snapwalk/clock.h>

static int64_t played_deadline_ns(const struct sw_options *options, size_t n);
static int played_enter(const struct sw_options *options, struct sw_error *err);

#define sw_obtain_deadline_ns    played_deadline_ns
#define sw_sandbox_enter_parsing played_enter
#include "run/merging.c"

enum { DUMP_BYTES = 4 << 20, PLAYED_MS = 100, SOON_S = 20 };

static bool ends; /* the child, before it reads anything; else it hangs */

static int64_t played_deadline_ns(const struct sw_options *options, size_t n)
{
	return sw_clock_ns() + PLAYED_MS * (int64_t) NS_PER_MS;
}

static int played_enter(const struct sw_options *options, struct sw_error *err)
{
	while (!ends)
		(void) pause();
	return sw_fail(err, SW_E_IO, "the child does not like it");
}

/* A dump that no pipe holds is given up after the time for one, and so is the child. What follows is not waited for. */
TEST(test_child_does_not_read)
{
	sw_cleanup(sw_free_p) char *dump = calloc(1, DUMP_BYTES);
	struct sw_options o = {.timeout_ms = 1};
	assert_non_null(dump);
	(void) signal(SIGPIPE, SIG_IGN); /* as the command does */
	for (int i = 0; i < 2; i++) {
		struct sw_merging m;
		ends = i == 1;
		assert_int_equal(sw_merging_begin(&m, &o), SW_STATUS_COMPLETE);
		(void) alarm(SOON_S); /* the test ends by it where it waits for ever */
		for (int n = 0; n < 3; n++)
			assert_int_equal(sw_merging_send(&m, "a", dump, DUMP_BYTES, NULL), 0);
		assert_true(m.gone);
		assert_int_equal(m.late, !ends);
		assert_int_not_equal(sw_merging_end(&m, SW_STATUS_COMPLETE), SW_STATUS_COMPLETE);
		(void) alarm(0);
	}
}
