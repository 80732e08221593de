/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A lock as JSON. */
#include "cleanup.h"
#include "errors.h"
#include "report/activity.h"
#include "report/builder.h"
#include "report/json/elements.h"
#include "report/lock.h"
#include "utf8.h"

#include <inttypes.h>
#include <string.h>

enum { FUNCTIONS_SHOWN = 6 };

static void append_string(struct sw_text *text, const char *s)
{
	sw_utf8_append_json_string(text, s);
}

/* The thread as a dump has it, and the functions at the top of its stack: the stack itself is not here. */
static void append_thread(struct sw_text *text, const struct sw_report *report,
			  const struct sw_report_thread *thread)
{
	const struct sw_report_stack *stack = sw_stack_of(report, thread);
	sw_report_json_thread(text, thread);
	if (text->failed)
		return;
	text->size--; /* the bracket that closes the thread */
	sw_text_printf(text, ",\"functions\":[");
	size_t n = 0;
	for (size_t i = 0; stack != NULL && i < stack->n_frames && n < FUNCTIONS_SHOWN; i++) {
		if (stack->frames[i].function == NULL)
			continue;
		sw_text_printf(text, n++ > 0 ? "," : "");
		append_string(text, stack->frames[i].function);
	}
	sw_text_printf(text, "]}");
}

static const struct sw_report_thread *owner_of(const struct sw_report *report,
					       const struct sw_report_wait *wait)
{
	bool ours = wait->owner_pid == 0 || wait->owner_pid == report->process.pid;
	for (size_t i = 0; ours && wait->owner_tid != 0 && i < report->n_threads; i++)
		if (report->threads[i].tid == wait->owner_tid)
			return &report->threads[i];
	return NULL;
}

static void append_known(struct sw_text *text, const char *name, int64_t value)
{
	if (value > 0)
		sw_text_printf(text, ",\"%s\":%" PRId64, name, value);
	else
		sw_text_printf(text, ",\"%s\":null", name);
}

int sw_report_lock_json(const struct sw_report *report, uint64_t address_avma, char **ret_text,
			size_t *ret_size, struct sw_error *err)
{
	struct sw_lock_found lock;
	struct sw_text text = {0};
	int r = sw_lock_find(report, address_avma, &lock, err);
	if (r < 0)
		return r;
	const struct sw_report_wait *wait = lock.first->blocked_on;
	const struct sw_report_thread *owner = owner_of(report, wait);
	const struct sw_report_deadlock *deadlock = sw_lock_deadlock(report, &lock);
	sw_text_printf(&text,
		       "{\"schema\":\"" SW_EXPLAIN_SCHEMA "\",\"address\":\"0x%" PRIx64
		       "\",\"lock\":{\"kind\":",
		       address_avma);
	append_string(&text, wait->kind);
	sw_text_printf(&text, ",\"decided\":");
	append_string(&text, sw_lock_decided(wait));
	append_known(&text, "owner_tid", wait->owner_tid);
	append_known(&text, "owner_pid", wait->owner_pid);
	sw_text_printf(&text, ",\"owner\":%s", owner == NULL ? "null" : "");
	if (owner != NULL)
		append_thread(&text, report, owner);
	if (deadlock != NULL) {
		sw_text_printf(&text, ",\"deadlock\":");
		sw_report_json_deadlock(&text, deadlock);
	}
	sw_text_printf(&text, ",\"waiters\":[");
	for (size_t i = 0, n = 0; i < report->n_threads; i++) {
		if (!sw_lock_is_awaited(&lock, &report->threads[i]))
			continue;
		sw_text_printf(&text, n++ > 0 ? "," : "");
		append_thread(&text, report, &report->threads[i]);
	}
	sw_text_printf(&text, "]}}\n");
	if (text.failed) {
		sw_text_deinit(&text);
		return sw_fail_nomem(err);
	}
	*ret_size = text.size;
	*ret_text = text.data;
	return 0;
}
