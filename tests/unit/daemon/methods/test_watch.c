/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rules with OnEvent=: how much is said of processes that cannot be watched, or looked for. The look is played. */
#include "methods/watch.h"
#include "methods/target.h"
#include "cleanup.h"
#include "errors.h"
#include "test.h"

#include <sys/mman.h>

enum { BEYOND = 1 << 23 /* above each process id */, TEXT = 64 << 10, WAIT_US = 60000000 };

/* The answer to a look: so many processes that are not there, or that it cannot be made. */
static size_t n_found;

int sw_target_select_word(const char *word, size_t max, pid_t *ret_pids, size_t *ret_n,
			  struct sw_error *err)
{
	for (*ret_n = 0; *ret_n < n_found && *ret_n < max; ++*ret_n)
		ret_pids[*ret_n] = BEYOND + (pid_t) *ret_n;
	return n_found > 0 ? 0 : sw_fail(err, SW_E_INVALID, "it means several");
}

bool sw_target_exe_allowed(const struct sw_rule *rule, const struct sw_found *found)
{
	return false;
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;
	for (const char *at = text; (at = strstr(at, what)) != NULL; at++)
		n++;
	return n;
}

/* Looks twice, by two rules; what was said on standard error. */
static const char *said(void)
{
	static char text[TEXT];
	static char word[] = "comm:x", one[] = "one", other[] = "other";
	char *targets[] = {word, NULL};
	struct sw_rule events[] = {
		{.kind = SW_RULE_EVENT, .name = one, .last_ns = INT64_MIN, .max_targets = 1},
		{.kind = SW_RULE_EVENT, .name = other, .last_ns = INT64_MIN, .max_targets = 1}};
	struct sw_rules rules = {.events = events, .n_events = SW_ARRAY_SIZE(events)};
	static const struct sw_config config = {.events = SW_EVENTS_OWNERS};
	struct sw_counters counters = {0};
	struct sw_jobs jobs = {.config = &config, .counters = &counters};
	struct sw_watcher watcher;
	int before = dup(STDERR_FILENO), fd = memfd_create("lines", MFD_CLOEXEC);
	assert_true(before >= 0 && fd >= 0);
	for (size_t i = 0; i < SW_ARRAY_SIZE(events); i++)
		events[i].targets = targets;
	assert_true(sd_event_new(&jobs.event) >= 0);
	assert_true(dup2(fd, STDERR_FILENO) >= 0);
	sw_watcher_init(&watcher, &jobs, &rules);
	sw_watcher_start(&watcher);
	assert_int_equal(sd_event_run(jobs.event, WAIT_US), 1);
	watcher.rest_ns = 0;
	(void) sd_event_source_set_time_relative(watcher.timer, 0);
	assert_int_equal(sd_event_run(jobs.event, WAIT_US), 1);
	sw_watcher_stop(&watcher);
	assert_true(dup2(before, STDERR_FILENO) >= 0);
	ssize_t size = pread(fd, text, sizeof(text) - 1, 0);
	assert_true(size >= 0);
	text[size] = '\0';
	assert_null(sd_event_unref(jobs.event));
	(void) close(before);
	(void) close(fd);
	return text;
}

TEST(test_select_is_said_once_of_each_rule)
{
	n_found = 0;
	const char *text = said();
	assert_int_equal(count(text, "rule one: Target=comm:x: it means several"), 1);
	assert_int_equal(count(text, "rule other: Target=comm:x: it means several"), 1);
}

TEST(test_lines_of_a_rule_are_limited)
{
	n_found = SW_LOG_LIMIT_ENTRIES + 4;
	const char *text = said();
	assert_int_equal(count(text, "rule one: process "), SW_LOG_LIMIT_ENTRIES);
	assert_int_equal(count(text, "rule other: process "), SW_LOG_LIMIT_ENTRIES);
	/* The count of lines that were left out is said at the latest when the rules are read again. */
	assert_int_equal(count(text, "rule one: 4 lines were left out"), 1);
	assert_int_equal(count(text, "rule other: 4 lines were left out"), 1);
}
