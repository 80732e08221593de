/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which frame of a stack says most of where its thread is. */
#include "report/text/where.h"
#include "cleanup.h"
#include "report/activity.h"
#include "report/frame_kind.h"

#include <string.h>

/* Files that the language comes with, but for what was installed among them. */
static bool is_of_library(const struct sw_report_frame *f)
{
	static const struct {
		const char *kind, *part, *other;
	} files[] = {{"cpython", "/lib/python", "-packages/"},
		     {"cpython", "<frozen ", NULL},
		     {"ruby", "/lib/ruby/", "/gems/"},
		     {"ruby", "<internal:", NULL},
		     {"v8js", "node:", NULL}};
	for (size_t i = 0; i < SW_ARRAY_SIZE(files); i++)
		if (strcmp(f->kind, files[i].kind) == 0 && strstr(f->file, files[i].part) != NULL &&
		    (files[i].other == NULL || strstr(f->file, files[i].other) == NULL))
			return true;
	return false;
}

/* Frames of the language's own packages: the program waits by way of them. */
static bool is_of_language(const struct sw_report_frame *f)
{
	static const struct {
		const char *kind, *prefix;
	} packages[] = {{"jvm", "java."}, {"jvm", "jdk."}, {"jvm", "sun."}, {"clr", "System."}};
	for (size_t i = 0; i < SW_ARRAY_SIZE(packages); i++)
		if (strcmp(f->kind, packages[i].kind) == 0 &&
		    strncmp(sw_frame_method(f), packages[i].prefix, strlen(packages[i].prefix)) ==
			    0)
			return true;
	return is_of_library(f);
}

/* The innermost frame of code that has no name, in a file that is not the C library's. */
static size_t nameless(const struct sw_report *r, const struct sw_report_stack *s)
{
	for (size_t i = 0; i < s->n_frames; i++)
		if (s->frames[i].module >= 0 && s->frames[i].has_offset && !s->frames[i].internal &&
		    !sw_frame_is_libc(r, &s->frames[i]))
			return i;
	return s->n_frames;
}

size_t sw_where_index(const struct sw_report *r, const struct sw_report_stack *s, bool running)
{
	size_t own = sw_own_frame(r, s, 0), first = s->n_frames;
	for (size_t i = own; i < s->n_frames; i++) {
		const struct sw_report_frame *f = &s->frames[i];
		if (!sw_frame_is_managed(f) || f->internal || f->function == NULL ||
		    f->file == NULL)
			continue;
		if (running || (f->line > 0 && !is_of_language(f)))
			return i;
		if (first == s->n_frames)
			first = i;
	}
	if (first < s->n_frames)
		return first;
	return own < s->n_frames ? own : nameless(r, s);
}

const struct sw_report_frame *sw_where_is(const struct sw_report *r,
					  const struct sw_report_thread *t)
{
	const struct sw_report_stack *s = sw_stack_of(r, t);
	size_t i = s != NULL ? sw_where_index(r, s, t->state == 'R') : 0;
	return s != NULL && i < s->n_frames ? &s->frames[i] : NULL;
}
