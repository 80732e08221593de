/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "top/place.h"
#include "common/frame.h"
#include "utf8.h"

#include <string.h>

enum {
	STACK_FRAMES = 6, /* one below the other */
	SHORT_FRAMES = 5, /* in one line */
	SKIPPED_MAX = 24, /* frames of the C library over the program's own */
};

static void put(struct sw_text *text, const char *s)
{
	sw_utf8_append_plain(text, s, strlen(s));
}

/* Frames of the C library, which every blocked thread has on top of its stack. */
static bool is_library(const struct sw_report *report, const struct sw_report_frame *f)
{
	static const char *const names[] = {"libc.so", "libc-",      "libpthread", "ld-linux",
					    "ld-musl", "linux-vdso", "[vdso]"};
	const char *module = sw_frame_module_name(report, f);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(module, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static size_t count_shown(const struct sw_report_stack *s)
{
	size_t n = 0;
	for (size_t i = 0; i < s->n_frames; i++)
		n += !sw_frame_is_hidden(&s->frames[i]);
	return n;
}

/* Frames that a dump hides are left out, unless the stack has no other ones. */
static bool is_shown(const struct sw_report_frame *f, bool all)
{
	return all || !sw_frame_is_hidden(f);
}

/* The first frame of the program's own; 0 when there is none. */
static size_t first_own(const struct sw_report *report, const struct sw_report_stack *s, bool all)
{
	for (size_t i = 0; i < s->n_frames && i < SKIPPED_MAX; i++)
		if (!is_library(report, &s->frames[i]) && is_shown(&s->frames[i], all))
			return i;
	return 0;
}

/* Put so many frames from one on, with a separator before each or between them. */
static void put_frames(struct sw_text *text, const struct sw_report *report,
		       const struct sw_report_stack *s, size_t from, size_t most, bool in_line,
		       bool all)
{
	size_t n = 0;
	for (size_t i = from; i < s->n_frames && n < most; i++) {
		if (!is_shown(&s->frames[i], all))
			continue;
		if (!in_line)
			sw_text_append(text, "\n", 1);
		else if (n > 0)
			sw_text_append(text, " < ", 3);
		sw_frame_put_name(text, report, &s->frames[i]);
		n++;
	}
}

static void put_wait(struct sw_text *text, const struct sw_report_thread *t)
{
	const struct sw_report_wait *wait = t->blocked_on;
	if (wait == NULL || wait->kind == NULL) {
		if (t->syscall != NULL)
			put(text, t->syscall);
		return;
	}
	put(text, sw_report_wait_name(wait, t->syscall));
	if (wait->target != NULL) {
		sw_text_append(text, " ", 1);
		put(text, wait->target);
	}
	if (wait->owner_tid != 0)
		sw_text_printf(text, " of %d", (int) wait->owner_tid);
	else if (wait->owner_pid != 0)
		sw_text_printf(text, " of process %d", (int) wait->owner_pid);
}

void sw_top_place(const struct sw_report *report, const struct sw_report_thread *t,
		  struct sw_text *ret)
{
	put(ret, sw_report_thread_name(t));
	sw_text_append(ret, "\n", 1);
	put_wait(ret, t);
	sw_text_append(ret, "\n", 1);
	if (t->stack < 0) {
		put(ret, t->reason_text != NULL ? t->reason_text : "");
		return;
	}
	const struct sw_report_stack *s = &report->stacks[t->stack];
	size_t n_shown = count_shown(s);
	bool all = n_shown == 0;
	size_t first = first_own(report, s, all);
	put_frames(ret, report, s, first, SHORT_FRAMES, true, all);
	/* A short stack is shown whole, a longer one from the program's own frames on: those above say little. */
	bool whole = (all ? s->n_frames : n_shown) <= STACK_FRAMES;
	put_frames(ret, report, s, whole ? 0 : first, STACK_FRAMES, false, all);
}
