/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sample/cpu_names.h"
#include "arena.h"
#include "cleanup.h"
#include "process/proc.h"

#include <snapwalk/clock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	NAMES_NS = 1000000000, /* for so long a name of a thread is believed */
	GROWTH = 64,
};

void sw_cpu_names_deinit(struct sw_cpu_names *names)
{
	sw_map64_deinit(&names->indices);
	free(names->all);
}

/* A name that cannot be kept is read again, or unknown. */
static void name_keep(struct sw_cpu_names *names, pid_t tid, const char comm[static SW_COMM_MAX])
{
	enum { NAMES_MAX = 4096 };
	uint64_t index = 0;
	bool known = sw_map64_get(&names->indices, (uint64_t) tid, &index);
	if (!known && names->fixed && names->n >= NAMES_MAX)
		return; /* those that are there could not be read again */
	if (!known && names->n >= NAMES_MAX) {
		sw_map64_deinit(&names->indices);
		names->n = 0;
	}
	if (!known) {
		struct sw_cpu_name *grown =
			sw_grow(names->all, names->n, &names->max, GROWTH, sizeof(*grown));
		if (grown == NULL)
			return;
		names->all = grown;
		if (sw_map64_put(&names->indices, (uint64_t) tid, names->n + 1) < 0)
			return;
		index = ++names->n;
	}
	names->all[index - 1].read_ns = sw_clock_ns();
	memcpy(names->all[index - 1].comm, comm, SW_COMM_MAX);
}

/* False: it is not there, or the thread is gone. */
static bool name_read(const struct sw_cpu_names *names, pid_t tid, char comm[static SW_COMM_MAX])
{
	char path[32], text[SW_COMM_MAX + 1] = "";
	(void) snprintf(path, sizeof(path), "%d/comm", (int) tid); /* fits */
	if (sw_proc_read_small(names->task_fd, path, text, sizeof(text)) <= 0)
		return false;
	text[strcspn(text, "\n")] = '\0';
	memset(comm, 0, SW_COMM_MAX);
	(void) snprintf(comm, SW_COMM_MAX, "%.*s", SW_COMM_MAX - 1, text);
	return true;
}

void sw_cpu_names_find(struct sw_cpu_names *names, pid_t tid, char comm[static SW_COMM_MAX])
{
	uint64_t index = 0;
	const struct sw_cpu_name *known = sw_map64_get(&names->indices, (uint64_t) tid, &index)
						  ? &names->all[index - 1]
						  : NULL;
	bool old = known == NULL || sw_clock_ns() - known->read_ns >= NAMES_NS;
	if (old && !names->fixed && name_read(names, tid, comm))
		name_keep(names, tid, comm);
	else if (known != NULL) /* fresh; or it has ended: as it was */
		memcpy(comm, known->comm, SW_COMM_MAX);
	else
		memset(comm, 0, SW_COMM_MAX);
}

void sw_cpu_names_note(struct sw_cpu_names *names, const struct sw_events_sample *named)
{
	uint64_t index = 0;
	if (named->named_as == 0)
		name_keep(names, named->tid, named->comm);
	else if (sw_map64_get(&names->indices, (uint64_t) named->named_as, &index)) {
		char comm[SW_COMM_MAX];
		memcpy(comm, names->all[index - 1].comm, SW_COMM_MAX);
		name_keep(names, named->tid, comm);
	}
}

void sw_cpu_names_read(struct sw_cpu_names *names)
{
	enum { THREADS_MAX = 4096 };
	char comm[SW_COMM_MAX];
	size_t n = 0;
	sw_cleanup(sw_free_p) pid_t *tids = calloc(THREADS_MAX, sizeof(*tids));
	if (tids == NULL || !sw_proc_tids(names->task_fd, tids, THREADS_MAX, &n))
		return;
	for (size_t i = 0; i < n && i < THREADS_MAX; i++)
		if (name_read(names, tids[i], comm))
			name_keep(names, tids[i], comm);
}
