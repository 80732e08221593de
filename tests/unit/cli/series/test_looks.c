/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The looks of top at a process of this test: places are found again when they were numbered anew. */
#include "series/looks.h"
#include "still_process.h"
#include "test.h"

enum { THREADS = 4, LOOKS = 3, NAMES_SIZE = 256 };

TEST(test_renumbered)
{
	char names[THREADS][NAMES_SIZE];
	const struct sw_options options = {.rate_hz = 1};
	pid_t pid = still_process_start(THREADS);
	const struct sw_subject subject = {.kind = SW_WANT_PID, .pid = pid, .name = "target"};
	struct sw_looks looks;
	uint32_t row;
	assert_int_equal(sw_looks_open(&looks, &options, &subject, NULL), 0);
	/* Nobody is at this one: without it the others have other numbers. */
	assert_int_equal(sw_tally_row(&looks.places, "nobody", strlen("nobody"), &row), 0);
	still_process_wait(pid, THREADS);
	assert_int_equal(sw_looks_look(&looks, NULL), 0);
	assert_int_equal(looks.list.n_threads, THREADS);
	for (size_t i = 0; i < THREADS; i++) {
		const char *place = looks.list.threads[i].place;
		assert_non_null(place);
		assert_non_null(strstr(place, "wait_for_ever"));
		(void) snprintf(names[i], NAMES_SIZE, "%s", place);
	}
	size_t n_places = looks.places.n_entries;
	looks.places_max = 0;
	for (size_t k = 0; k < LOOKS; k++) {
		assert_int_equal(sw_looks_look(&looks, NULL), 0);
		assert_int_equal(looks.list.n_threads, THREADS);
		assert_in_range(looks.places.n_entries, 1, n_places - 1);
		for (size_t i = 0; i < THREADS; i++)
			assert_string_equal(looks.list.threads[i].place, names[i]);
	}
	sw_looks_deinit(&looks);
	still_process_end(pid);
}
