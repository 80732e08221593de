/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Captures that are published: how many entries the journal gets. */
#include "jobs/publish.h"
#include "cleanup.h"
#include "test.h"

#include <sys/mman.h>

enum { CAPTURES = SW_LOG_LIMIT_ENTRIES + 10 };

/* The lines on standard error about so many failed captures of a process. */
static int lines_of(struct sw_publisher *publisher, const struct sw_origin *origin)
{
	static const struct sw_log_capture failure = {.pid = 7, .comm = "x", .error = "no"};
	char text[CAPTURES * 128];
	int n = 0;
	int before = dup(STDERR_FILENO), fd = memfd_create("lines", MFD_CLOEXEC);
	assert_true(before >= 0 && fd >= 0);
	assert_true(dup2(fd, STDERR_FILENO) >= 0);
	for (int i = 0; i < CAPTURES; i++)
		sw_publish_failure(publisher, &failure, origin);
	assert_true(dup2(before, STDERR_FILENO) >= 0);
	ssize_t size = pread(fd, text, sizeof(text), 0);
	assert_true(size >= 0 && (size_t) size < sizeof(text));
	for (ssize_t i = 0; i < size; i++)
		n += text[i] == '\n';
	(void) close(before);
	(void) close(fd);
	return n;
}

/* An alert is the administrator's; events are as many as the user whose process it is likes to have. */
TEST(test_entries_of_events_are_limited_by_user)
{
	static const struct sw_config config;
	struct sw_counters counters = {0};
	struct sw_publisher publisher;
	const struct sw_target_creds one = {.rights.uid = {4001, 4001, 4001}},
				     other = {.rights.uid = {4002, 4002, 4002}};
	sw_publish_init(&publisher, &config, &counters);
	struct sw_origin origin = {.target = &one, .alert = true};
	assert_int_equal(lines_of(&publisher, &origin), CAPTURES);
	origin.by_event = true;
	assert_int_equal(lines_of(&publisher, &origin), SW_LOG_LIMIT_ENTRIES);
	assert_int_equal(lines_of(&publisher, &origin), 0);
	origin.target = &other;
	assert_int_equal(lines_of(&publisher, &origin), SW_LOG_LIMIT_ENTRIES);
	/* Captures that root asks for have their own. */
	origin = (struct sw_origin){.target = &one, .by = 0};
	assert_int_equal(lines_of(&publisher, &origin), SW_LOG_LIMIT_ENTRIES);
	assert_int_equal(counters.captures_failed_total, 5 * CAPTURES);
	sw_publish_deinit(&publisher);
}
