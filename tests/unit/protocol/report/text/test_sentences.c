/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Each sentence about a wait that the text can make, with sample values, for a person to read. Whoever changes
 * a wording changes the list, and reads the whole; a new kind of wait is added to it.
 */
#include "report/text/waits.h"
#include "sample_report.h"
#include "cleanup.h"
#include "test.h"

static const char wanted[] = "\n"
#include "sentences.h"
	;

static void put_all(struct sw_text_writer *w, struct sw_report_thread *t,
		    struct sw_report_wait *wait)
{
	static const size_t index = 0;
	static const struct {
		pid_t tid, pid;
	} owners[] = {{0, 0}, {12, 9}, {0, 99}};
	for (size_t i = 0; i < SW_ARRAY_SIZE(owners); i++) {
		wait->owner_tid = owners[i].tid;
		wait->owner_pid = owners[i].pid;
		sw_text_waits(w, &index, 1);
		sw_put(w, "\n    1 thread waits for http-9 (10), ");
		sw_text_state(w, t);
		sw_put(w, "\n");
	}
}

/* The text for a kind stands in the list in whole. */
static void assert_kind(struct sw_text_writer *w, const char *kind, const char *target)
{
	struct sw_report_wait wait = {.kind = kind, .target = target, .fd = -1, .trust = "memory"};
	char title[64];
	(void) snprintf(title, sizeof(title), "\n%s\n  ", kind); /* fits */
	w->text.size = 0;
	sw_put(w, "%s", title);
	w->text.size -= strlen("  ");
	w->report->threads[0].blocked_on = &wait;
	put_all(w, &w->report->threads[0], &wait);
	if (strstr(wanted, w->text.data) == NULL)
		fail_msg("not as in sentences.h:%s", w->text.data);
	w->report->threads[0].blocked_on = NULL;
}

TEST(test_waits)
{
	static const struct {
		const char *kind, *target;
	} others[] = {{"pipe", NULL},   {"tcp", NULL},      {"child", NULL},
		      {"thread", NULL}, {"file", "/var/x"}, {"timer", "ends in 9 min"},
		      {"futex", NULL}};
	struct sw_report_thread threads[] = {
		{
			.tid = 10,
			.comm = "http-9",
			.state = 'S',
			.syscall = "futex",
			.since_ms = 3100,
			.cpu_ns = -1,
			.stack = -1,
		},
		{.tid = 12, .comm = "http-7", .state = 'R', .since_ms = -1, .stack = -1}};
	struct sw_report_peer peer = {.pid = 99, .comm = "db"};
	struct sw_report report = {.threads = threads,
				   .n_threads = 2,
				   .peers = &peer,
				   .n_peers = 1};
	const struct sw_text_options options = {0};
	struct sw_text_writer w = {.report = &report, .options = &options};
	report.process.pid = 9;
	for (size_t i = 0; sw_text_wait_kind(i) != NULL; i++)
		assert_kind(&w, sw_text_wait_kind(i),
			    strchr(sw_text_wait_kind(i), '_') != NULL ? "Stock" : NULL);
	for (size_t i = 0; i < SW_ARRAY_SIZE(others); i++)
		assert_kind(&w, others[i].kind, others[i].target);
	sw_text_deinit(&w.text);
}
