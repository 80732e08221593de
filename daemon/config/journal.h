/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_CONFIG_JOURNAL_H
#define SW_DAEMON_CONFIG_JOURNAL_H

#include <snapwalk/error.h>

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* syslog.h's numbers */
enum { SW_LOG_ERROR = 3, SW_LOG_WARNING = 4, SW_LOG_NOTICE = 5, SW_LOG_INFO = 6 };

/* To the journal when standard error is one of its streams, otherwise a line on standard error, with
 * the <N> that a service manager understands. The message is cut to one line of plain text. */
__attribute__((format(printf, 2, 3))) void sw_log(int priority, const char *fmt, ...);

/* A capture, with fields to search for: SNAPWALK_PID, _COMM, _DUMP, _REASON, _STOPPED_USEC. */
struct sw_log_capture {
	pid_t pid;
	const char *comm, *id, *reason; /* id NULL: it failed */
	int64_t stopped_us, n_threads;
	const char *error; /* NULL: it did not fail */
	bool is_stored;    /* who asked for the dump has it in any case */
};
void sw_log_captured(const struct sw_log_capture *capture);

#endif
