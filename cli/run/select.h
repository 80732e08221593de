/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_SELECT_H
#define SW_CLI_SELECT_H

#include "common/options.h"

/* The subject of a capture: a process, a core file or a fixture. */
struct sw_subject {
	enum sw_want_kind kind; /* SW_WANT_PID, _CORE or _FIXTURE */
	pid_t pid;
	const char *path; /* borrowed from argv; core or fixture */
	char name[128];   /* for messages: the pid, or the path (cut) */
	char comm[64];    /* "" when unknown */
};

struct sw_selection {
	struct sw_subject *subjects; /* owned */
	size_t n_subjects;
	size_t capacity;
};

/*
 * The processes, core files and fixtures that the TARGET words mean, each process once.
 *
 * @return 0; -SW_E_NOT_FOUND (a selector matches none), -SW_E_LIMIT, -SW_E_INVALID (a container id
 *         that means several), -SW_E_IO (no /proc), -SW_E_NOMEM. *ret is valid either way.
 * @param ret_about  The word that an error is about.
 */
int sw_select(const struct sw_options *options, struct sw_selection *ret, const char **ret_about,
	      struct sw_error *err);
/* Add a process, unless it is there. @return 0; -SW_E_LIMIT, -SW_E_NOMEM. */
int sw_selection_add(struct sw_selection *selection, pid_t pid, const char *comm,
		     struct sw_error *err);
void sw_selection_deinit(struct sw_selection *selection);
/* Whether a process, which may have begun since, is one that the TARGET words mean; without any word each is. */
bool sw_selects(const struct sw_options *options, pid_t pid);

/*
 * For commands with one target. Complains by itself.
 * @return SW_STATUS_*.
 */
int sw_select_one(const struct sw_options *options, struct sw_subject *ret);

#endif
