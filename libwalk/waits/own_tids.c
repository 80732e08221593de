/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "waits/own_tids.h"
#include "cleanup.h"
#include "process/proc.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATUS_BYTES = 4096, LEVELS_MAX = 64 /* kernel: 32 */, NEWER_MAX = 1024 };

pid_t sw_own_tid_parse(const char *status, size_t *ret_n)
{
	const char *at = strstr(status, "\nNSpid:");
	long last = 0;
	*ret_n = 0;
	if (at == NULL)
		return 0;
	for (at += strlen("\nNSpid:"); *ret_n < LEVELS_MAX; (*ret_n)++) {
		at += strspn(at, " \t");
		if (*at < '0' || *at > '9')
			break;
		char *end;
		last = strtol(at, &end, 10);
		at = end;
	}
	return last > 0 && last <= INT_MAX ? (pid_t) last : 0;
}

static pid_t read_one(int fd, const char *name, size_t *ret_n)
{
	char status[STATUS_BYTES];
	*ret_n = 0;
	return sw_proc_read_small(fd, name, status, sizeof(status)) > 0
		       ? sw_own_tid_parse(status, ret_n)
		       : 0;
}

static int compare_tids(const void *a, const void *b)
{
	const pid_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

void sw_newer_threads_find(struct sw_snapshot *snap, int task_fd)
{
	size_t n = 0, max = snap->n_threads + NEWER_MAX;
	sw_cleanup(sw_free_p) pid_t *known = calloc(snap->n_threads + 1, sizeof(*known));
	sw_cleanup(sw_free_p) pid_t *now = calloc(max, sizeof(*now));
	snap->newer_threads = true;
	if (known == NULL || now == NULL || !sw_proc_tids(task_fd, now, max, &n) || n > max)
		return;
	for (size_t i = 0; i < snap->n_threads; i++)
		known[i] = snap->threads[i].tid;
	qsort(known, snap->n_threads, sizeof(*known), compare_tids);
	for (size_t i = 0; i < n; i++)
		if (bsearch(&now[i], known, snap->n_threads, sizeof(*known), compare_tids) == NULL)
			return;
	snap->newer_threads = false;
}

void sw_own_tids_fill(struct sw_snapshot *snap, int proc_fd, int task_fd)
{
	size_t n;
	(void) read_one(proc_fd, "status", &n); /* wanted for the number of levels */
	for (size_t i = 0; n > 1 && i < snap->n_threads; i++) {
		char name[32];
		size_t levels;
		(void) snprintf(name, sizeof(name), "%d/status",
				(int) snap->threads[i].tid); /* fits */
		pid_t own_tid = read_one(task_fd, name, &levels);
		/* Gone meanwhile: no id is taken for its own. */
		snap->threads[i].own_tid = own_tid > 0 ? own_tid : -1;
	}
}
