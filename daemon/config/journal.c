/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config/journal.h"
#include "utf8.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
/* Our source file's name in every entry is of no use to anybody. */
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-id128.h>
#include <systemd/sd-journal.h>

/* Fixed for ever: journalctl MESSAGE_ID=... finds these entries, as snapwalkd(8) says. */
#define ID_CAPTURED "5c1f2b6ad7e84f0c9b3c0e5d8f5a7e21"
#define ID_FAILED   "0b7d9d4e5f6c4f63a0e0a8a1c7f1d3b9"

enum { LINE_MAX_BYTES = 1024 };

/* The service manager sets JOURNAL_STREAM to the device and inode of the stream it made
 * (systemd.exec(5)); a redirected standard error is another. */
static bool to_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long device, inode;
	struct stat st;
	return stream != NULL && sscanf(stream, "%lu:%lu", &device, &inode) == 2 &&
	       fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

static void to_stderr(int priority, const char *line)
{
	char text[LINE_MAX_BYTES + 32];
	/* sd-daemon(3): a service manager reads the priority; people and their files do not. */
	bool by_manager = getenv("INVOCATION_ID") != NULL && !isatty(STDERR_FILENO);
	int size = !by_manager
			   ? snprintf(text, sizeof(text), "snapwalkd: %s\n", line)
			   : snprintf(text, sizeof(text), "<%d>snapwalkd: %s\n", priority, line);
	/* The line is written by one call, so that lines of several processes stay whole; there is
	 * nowhere left to complain. */
	(void) !write(STDERR_FILENO, text, (size_t) size);
}

void sw_log(int priority, const char *fmt, ...)
{
	char line[LINE_MAX_BYTES];
	va_list ap;
	va_start(ap, fmt);
	(void) vsnprintf(line, sizeof(line), fmt, ap); /* cut is fine: it is prose */
	va_end(ap);
	/* Names of targets and clients: no line forges another or steers a terminal. */
	sw_utf8_make_plain(line);
	if (!to_journal() || sd_journal_send("MESSAGE=%s", line, "PRIORITY=%i", priority, NULL) < 0)
		to_stderr(priority, line);
}

void sw_log_captured(const struct sw_log_capture *c)
{
	char line[LINE_MAX_BYTES];
	const char *reason = c->reason != NULL ? c->reason : "";
	int priority = c->error != NULL ? SW_LOG_NOTICE : SW_LOG_INFO;
	if (c->error != NULL)
		(void) snprintf(line, sizeof(line), "capture of %d (%s) failed: %s", (int) c->pid,
				c->comm, c->error);
	else
		(void) snprintf(line, sizeof(line),
				"captured %d (%s): %lld threads, stopped %lld us, dump %s%s%s%s",
				(int) c->pid, c->comm, (long long) c->n_threads,
				(long long) c->stopped_us, c->id, c->is_stored ? "" : ", not kept",
				reason[0] != '\0' ? ": " : "", reason);
	sw_utf8_make_plain(line); /* as in sw_log() */
	if (!to_journal() ||
	    sd_journal_send("MESSAGE=%s", line, "PRIORITY=%i", priority, "MESSAGE_ID=%s",
			    c->error != NULL ? ID_FAILED : ID_CAPTURED, "SNAPWALK_PID=%i",
			    (int) c->pid, "SNAPWALK_COMM=%s", c->comm, "SNAPWALK_DUMP=%s",
			    c->id != NULL ? c->id : "", "SNAPWALK_REASON=%s", reason,
			    "SNAPWALK_STOPPED_USEC=%lli", (long long) c->stopped_us, NULL) < 0)
		to_stderr(priority, line);
}
