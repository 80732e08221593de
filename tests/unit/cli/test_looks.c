/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The looks of top at a process of this test: places are found again when they were numbered anew. */
#include "looks.h"
#include "cleanup.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { THREADS = 4, LOOKS = 3, LOOKS_MAX = 10000, NAMES_SIZE = 256 };

__attribute__((noinline)) static void *wait_for_ever(void *arg)
{
	(void) arg;
	while (pause() < 0) /* always */
		;
	return NULL;
}

static pid_t target_start(void)
{
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		pthread_t thread;
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int i = 1; i < THREADS; i++)
			(void) pthread_create(&thread, NULL, wait_for_ever, NULL);
		(void) wait_for_ever(NULL);
	}
	return pid;
}

/* Looks until each thread waits in pause(). */
static void look_until_still(struct sw_looks *looks)
{
	size_t n_still = 0;
	for (int k = 0; n_still < THREADS; k++) {
		assert_in_range(k, 0, LOOKS_MAX);
		n_still = 0;
		assert_int_equal(sw_looks_look(looks, NULL), 0);
		for (size_t i = 0; i < looks->list.n_threads; i++) {
			const char *place = looks->list.threads[i].place;
			n_still += place != NULL && strstr(place, "wait_for_ever") != NULL;
		}
	}
}

static void test_renumbered(void **state)
{
	(void) state;
	char names[THREADS][NAMES_SIZE];
	const struct sw_options options = {.rate_hz = 1};
	pid_t pid = target_start();
	const struct sw_subject subject = {.kind = SW_WANT_PID, .pid = pid, .name = "target"};
	struct sw_looks looks;
	uint32_t row;
	assert_int_equal(sw_looks_open(&looks, &options, &subject, NULL), 0);
	/* Nobody is at this one: without it the others have other numbers. */
	assert_int_equal(sw_tally_row(&looks.places, "nobody", strlen("nobody"), &row), 0);
	look_until_still(&looks);
	for (size_t i = 0; i < THREADS; i++)
		(void) snprintf(names[i], NAMES_SIZE, "%s", looks.list.threads[i].place);
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
	(void) kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_renumbered)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
