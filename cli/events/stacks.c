/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/stacks.h"
#include "cleanup.h"
#include "common/frame.h"
#include "errors.h"
#include "parts.h"
#include "utf8.h"

#include <string.h>

static const char between[] = " < ";

enum { SHORTEST = 3 }; /* of the name of such a function */

void sw_event_stacks_deinit(struct sw_event_stacks *s)
{
	sw_tally_deinit(&s->labels);
	sw_arena_deinit(&s->arena);
	free(s->stacks);
	*s = (struct sw_event_stacks){0};
}

/* ---- labels ---------------------------------------------------------------------------------- */

static void put(struct sw_text *text, const char *s)
{
	sw_utf8_append_plain(text, s, strlen(s));
}

static void put_frame(struct sw_text *text, const struct sw_report *report,
		      const struct sw_report_frame *f)
{
	sw_frame_put_name(text, report, f);
	if (f->file == NULL || f->line == 0)
		return;
	sw_text_append(text, " ", 1);
	put(text, sw_path_name(f->file));
	sw_text_printf(text, ":%u", f->line);
}

/* A frame of the C library whose function makes the call: __connect; __libc_open64 of openat. */
static bool makes_call(const struct sw_report *report, const struct sw_report_frame *f,
		       const char *call)
{
	static const char *const names[] = {"libc.so", "libc-", "libpthread", "ld-linux",
					    "ld-musl"};
	const char *module = sw_frame_module_name(report, f);
	bool is_library = false;
	for (size_t i = 0; i < SW_ARRAY_SIZE(names); i++)
		is_library |= sw_begins_with(module, names[i]);
	if (!is_library || f->function == NULL)
		return false;
	const char *function = f->function + strspn(f->function, "_");
	if (sw_begins_with(function, "libc_"))
		function += strlen("libc_");
	size_t length = strcspn(function, "0123456789");
	return strstr(f->function, call) != NULL || strcmp(function, "syscall") == 0 ||
	       (length >= SHORTEST && strncmp(call, function, length) == 0);
}

static bool is_library(const struct sw_report *report, const struct sw_report_frame *f)
{
	static const char *const names[] = {"libc.so",  "libc-",     "libpthread", "ld-linux",
					    "ld-musl",  "libpython", "python",     "libstdc++",
					    "_socket.", "_posix"};
	const char *module = sw_frame_module_name(report, f);
	for (size_t i = 0; i < SW_ARRAY_SIZE(names); i++)
		if (sw_begins_with(module, names[i]))
			return true;
	return false;
}

/* Code that comes with the language, or packages for it. */
static bool is_installed(const struct sw_report_frame *f)
{
	return f->file != NULL &&
	       (strstr(f->file, "/lib/python") != NULL || strstr(f->file, "<frozen") != NULL);
}

/* A frame of managed code where there is one, else the first one outside libraries that everybody has. by_function: the
 * stack is of a function that was asked for, which is no answer, nor is the rest of its file where there is another one. */
static void own_make(const struct sw_report *report, const struct sw_report_stack *s,
		     bool by_function, struct sw_text *ret)
{
	const struct sw_report_frame *own = NULL, *managed = NULL, *caller = NULL;
	const char *asked =
		by_function && s->n_frames > 0 ? sw_frame_module_name(report, &s->frames[0]) : NULL;
	for (size_t i = 0; i < s->n_frames; i++) {
		const struct sw_report_frame *f = &s->frames[i];
		if (sw_frame_is_hidden(f))
			continue;
		if (managed == NULL && strcmp(f->kind, "native") != 0 && f->function != NULL &&
		    !is_installed(f))
			managed = f;
		if (own != NULL || is_library(report, f) || (asked != NULL && i == 0))
			continue;
		if (asked != NULL && strcmp(sw_frame_module_name(report, f), asked) == 0)
			caller = caller == NULL ? f : caller;
		else
			own = f;
	}
	if (own == NULL)
		own = caller;
	if (managed != NULL || own != NULL)
		put_frame(ret, report, managed != NULL ? managed : own);
}

static void label_make(const struct sw_report *report, const struct sw_report_stack *s,
		       const char *call, struct sw_text *ret)
{
	size_t i = 0, n_put = 0;
	if (call != NULL) {
		put(ret, call);
		n_put++;
		while (i < s->n_frames && makes_call(report, &s->frames[i], call))
			i++;
	}
	for (; i < s->n_frames; i++) {
		if (sw_frame_is_hidden(&s->frames[i]))
			continue;
		if (n_put++ > 0)
			sw_text_append(ret, between, strlen(between));
		put_frame(ret, report, &s->frames[i]);
	}
	if (s->n_left_out > 0)
		sw_text_printf(ret, "%s(%zu frames left out)", between, s->n_left_out);
	if (s->why == NULL)
		return;
	sw_text_printf(ret, "%s?", n_put > 0 ? between : "");
}

void sw_event_label(const char *label, size_t n_frames, struct sw_text *ret)
{
	const char *end = label;
	for (size_t n = 0; end != NULL; n++) {
		if (n_frames > 0 && n == n_frames) {
			sw_text_append(ret, label, (size_t) (end - label));
			sw_text_printf(ret, "%s…", between);
			return;
		}
		end = strstr(n == 0 ? end : end + strlen(between), between);
	}
	sw_text_append(ret, label, strlen(label));
}

/* ---- the table ------------------------------------------------------------------------------- */

static int append(struct sw_event_stacks *s, const struct sw_report *report,
		  const struct sw_report_stack *stack, const char *label, struct sw_error *err)
{
	struct sw_event_stack *grown = sw_grow(s->stacks, s->n, &s->capacity, 64, sizeof(*grown));
	if (grown == NULL)
		return sw_fail_nomem(err);
	s->stacks = grown;
	struct sw_event_stack *to = &s->stacks[s->n];
	*to = (struct sw_event_stack){.label = label, .incomplete = stack->why != NULL};
	sw_cleanup(sw_text_deinit) struct sw_text own = {0};
	own_make(report, stack, s->by_function, &own);
	to->own = own.failed ? NULL
			     : sw_arena_strndup(&s->arena, own.size > 0 ? own.data : "", own.size);
	if (to->own == NULL)
		return sw_fail_nomem(err);
	if (s->with_json) {
		sw_cleanup(sw_free_p) char *json = NULL;
		int r = sw_report_stack_json(report, stack, &json, &to->json_size, err);
		if (r < 0)
			return r;
		to->json = sw_arena_strndup(&s->arena, json, to->json_size);
		if (to->json == NULL)
			return sw_fail_nomem(err);
	}
	s->n++;
	return 0;
}

int sw_event_stacks_add(struct sw_event_stacks *s, const struct sw_report *report, size_t thread,
			const char *call, uint32_t *ret_row, struct sw_error *err)
{
	sw_cleanup(sw_text_deinit) struct sw_text label = {0};
	int32_t index = (int32_t) report->threads[thread].stack;
	*ret_row = SW_TALLY_NO_ROW;
	if (index < 0)
		return 0;
	const struct sw_report_stack *stack = &report->stacks[index];
	label_make(report, stack, call, &label);
	if (label.failed ||
	    sw_tally_row(&s->labels, label.size > 0 ? label.data : "", label.size, ret_row) < 0)
		return sw_fail_nomem(err);
	if (*ret_row == SW_TALLY_NO_ROW || *ret_row < s->n)
		return 0;
	return append(s, report, stack, s->labels.entries[*ret_row].name, err);
}
