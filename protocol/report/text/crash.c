/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The signal that ended the process of a core file, in a line. */
#include "report/text/crash.h"
#include "report/text/threads.h"

#include <inttypes.h>
#include <string.h>

/* The access to the address. */
static void put_access(struct sw_text_writer *w, const struct sw_report_crash *c)
{
	const char *what = "access to";
	if (c->access != NULL && strcmp(c->access, "read") == 0)
		what = "read of";
	else if (c->access != NULL && strcmp(c->access, "write") == 0)
		what = "write to";
	else if (c->access != NULL && strcmp(c->access, "execute") == 0)
		what = "jump to";
	sw_put(w, ": %s 0x%" PRIx64 " by ", what, c->address_avma);
}

/* "SIGSEGV: stack overflow of worker (12): its stack of 8 MB is used up" */
static void put_overflow(struct sw_text_writer *w, const struct sw_report_crash *c)
{
	enum { KB = 1024, MB = 1024 * 1024 };
	sw_put(w, ": stack overflow of ");
	sw_put_thread(w, c->tid);
	sw_put(w, ": its stack");
	if (c->stack_bytes >= MB)
		sw_put(w, " of %" PRId64 " MB", (c->stack_bytes + MB / 2) / MB);
	else if (c->stack_bytes > 0)
		sw_put(w, " of %" PRId64 " KB", c->stack_bytes / KB);
	sw_put(w, " is used up");
}

static void put_signal(struct sw_text_writer *w, const struct sw_report_crash *c)
{
	bool memory = strcmp(c->signal, "SIGSEGV") == 0 || strcmp(c->signal, "SIGBUS") == 0 ||
		      strcmp(c->signal, "EXCEPTION_ACCESS_VIOLATION") == 0 ||
		      strcmp(c->signal, "EXCEPTION_IN_PAGE_ERROR") == 0;
	if (memory && c->has_address)
		put_access(w, c);
	else
		sw_put(w, " of ");
	sw_put_thread(w, c->tid);
	if (c->sender_pid == w->report->process.pid) {
		sw_put(w, ": raised by the process itself");
	} else if (c->sender_pid != 0) {
		sw_put(w, ": sent by process %d (uid %lld)", (int) c->sender_pid,
		       (long long) c->sender_uid);
	} else if (c->text != NULL) {
		sw_put(w, ": ");
		sw_put_foreign(w, c->text);
	}
}

void sw_text_crash(struct sw_text_writer *w)
{
	const struct sw_report_crash *c = w->report->process.crash;
	if (c == NULL)
		return;
	sw_style_begin(w, SW_STYLE_ALARM);
	sw_put_foreign(w, c->signal);
	if (c->stack_overflow)
		put_overflow(w, c);
	else
		put_signal(w, c);
	sw_style_end(w);
	sw_put(w, "\n");
}
