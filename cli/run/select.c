/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* TARGET words to processes. */
#include "run/select.h"
#include "cleanup.h"
#include "common/complain.h"
#include "errors.h"
#include "arena.h"
#include "text.h"

#include <snapwalk/select.h>

#include <string.h>

enum {
	SELECT_MAX = 4096, /* processes for one command line */
	SELECT_LIST_SHOWN = 10,
};

static int add(struct sw_selection *s, const struct sw_subject *subject, struct sw_error *err)
{
	for (size_t i = 0; i < s->n_subjects; i++)
		if (subject->kind == SW_WANT_PID && s->subjects[i].kind == SW_WANT_PID &&
		    s->subjects[i].pid == subject->pid)
			return 0;
	if (s->n_subjects == SELECT_MAX)
		return sw_fail(err, SW_E_LIMIT, "more than %d processes match", SELECT_MAX);
	struct sw_subject *grown =
		sw_grow(s->subjects, s->n_subjects, &s->capacity, 8, sizeof(*grown));
	if (grown == NULL)
		return sw_fail_nomem(err);
	s->subjects = grown;
	s->subjects[s->n_subjects++] = *subject;
	return 0;
}

static int add_path(struct sw_selection *s, const struct sw_want *want, struct sw_error *err)
{
	struct sw_subject subject = {.kind = want->kind, .path = want->text};
	(void) snprintf(subject.name, sizeof(subject.name), "%s", want->text); /* cut is fine */
	return add(s, &subject, err);
}

int sw_selection_add(struct sw_selection *s, pid_t pid, const char *comm, struct sw_error *err)
{
	struct sw_subject subject = {.kind = SW_WANT_PID, .pid = pid};
	(void) snprintf(subject.name, sizeof(subject.name), "%d", (int) pid);
	(void) snprintf(subject.comm, sizeof(subject.comm), "%s", comm);
	return add(s, &subject, err);
}

static enum sw_select_kind kind_of(enum sw_want_kind kind)
{
	switch (kind) {
	case SW_WANT_UNIT: return SW_SELECT_UNIT;
	case SW_WANT_CGROUP: return SW_SELECT_CGROUP;
	case SW_WANT_CONTAINER: return SW_SELECT_CONTAINER;
	default: return SW_SELECT_COMM;
	}
}

static int add_matches(struct sw_selection *s, const struct sw_want *want, struct sw_error *err)
{
	sw_cleanup(sw_free_p) struct sw_selected *found = NULL;
	size_t n = 0;
	int r = sw_select_processes(kind_of(want->kind), want->text, &found, &n, err);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = sw_selection_add(s, found[i].pid, found[i].comm, err);
	if (r == 0 && n == 0)
		r = sw_fail(err, SW_E_NOT_FOUND, "no process matches");
	return r;
}

bool sw_selects(const struct sw_options *options, pid_t pid)
{
	for (size_t i = 0; i < options->n_wants; i++) {
		const struct sw_want *want = &options->wants[i];
		if (want->kind == SW_WANT_PID
			    ? want->pid == pid
			    : sw_select_matches(kind_of(want->kind), want->text, pid))
			return true;
	}
	return options->n_wants == 0;
}

static int select_want(const struct sw_want *want, struct sw_selection *s, struct sw_error *err)
{
	if (want->kind == SW_WANT_CORE || want->kind == SW_WANT_FIXTURE)
		return add_path(s, want, err);
	if (want->kind == SW_WANT_PID)
		return sw_selection_add(s, want->pid, "", err);
	return add_matches(s, want, err);
}

int sw_select(const struct sw_options *options, struct sw_selection *ret, const char **ret_about,
	      struct sw_error *err)
{
	*ret = (struct sw_selection){0};
	for (size_t i = 0; i < options->n_wants; i++) {
		*ret_about = options->wants[i].text;
		int r = select_want(&options->wants[i], ret, err);
		if (r < 0)
			return r;
	}
	return 0;
}

void sw_selection_deinit(struct sw_selection *selection)
{
	free(selection->subjects);
	*selection = (struct sw_selection){0};
}

/* "4 processes match: 12 nginx, 13 nginx, ..." */
static void complain_several(const char *about, const struct sw_selection *s)
{
	struct sw_text text = {0};
	sw_text_printf(&text, "%zu processes match:", s->n_subjects);
	for (size_t i = 0; i < s->n_subjects && i < SELECT_LIST_SHOWN; i++)
		sw_text_printf(&text, "%s %s %s", i > 0 ? "," : "", s->subjects[i].name,
			       s->subjects[i].comm);
	if (s->n_subjects > SELECT_LIST_SHOWN)
		sw_text_printf(&text, ", ...");
	sw_complain_for(about, text.failed ? "several processes match" : text.data, "usage",
			SW_SAID_OF_PROCESSES);
	sw_text_deinit(&text);
}

int sw_select_one(const struct sw_options *options, struct sw_subject *ret)
{
	struct sw_selection s;
	struct sw_error err = {0};
	const char *about = "";
	int status = SW_STATUS_COMPLETE;
	if (sw_select(options, &s, &about, &err) < 0)
		status = sw_complain_error(about, &err);
	else if (s.n_subjects > 1) {
		complain_several(about, &s);
		status = SW_STATUS_USAGE;
	} else
		*ret = s.subjects[0];
	sw_selection_deinit(&s);
	return status;
}
