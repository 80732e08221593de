/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Source: src/hotspot/share/runtime/sweeper.cpp, jdk-17.0.15: NMethodSweeper::sweeper_loop(), release_compiled_method(). */
#include "runtimes/hotspot/structures/sweeper.h"
#include "process/proc.h"

#include <inttypes.h>
#include <snapwalk/clock.h>
#include <stdio.h>
#include <string.h>

enum { THREADS_MAX = 1024, STATUS_BYTES = 4096 };

static const char name[] = "Sweeper thread\n"; /* JavaThread's, which the C library cuts after 15 */

static bool number_at(const char *status, const char *key, uint64_t *ret)
{
	const char *at = strstr(status, key);
	return at != NULL && sscanf(at + strlen(key), " %" SCNu64, ret) == 1;
}

bool sw_hotspot_sweeper_parse(const char *status, uint64_t *ret)
{
	uint64_t waited, preempted;
	if (strstr(status, "\nState:\tS") == NULL ||
	    !number_at(status, "\nvoluntary_ctxt_switches:", &waited) ||
	    !number_at(status, "\nnonvoluntary_ctxt_switches:", &preempted))
		return false;
	*ret = waited + preempted;
	return true;
}

static bool runs_read(const struct sw_hotspot *h, uint64_t *ret)
{
	char path[32], status[STATUS_BYTES];
	(void) snprintf(path, sizeof(path), "%d/status", (int) h->copies.sweeper.tid); /* fits */
	ssize_t n = sw_proc_read_small(h->snap->priv->task_fd, path, status, sizeof(status));
	return n > 0 && sw_hotspot_sweeper_parse(status, ret);
}

static bool is_sweeper(const struct sw_hotspot *h, pid_t tid)
{
	char path[32], comm[32];
	(void) snprintf(path, sizeof(path), "%d/comm", (int) tid); /* fits */
	return sw_proc_read_small(h->snap->priv->task_fd, path, comm, sizeof(comm)) > 0 &&
	       strcmp(comm, name) == 0;
}

void sw_hotspot_sweeper_find(struct sw_hotspot *h)
{
	struct sw_hotspot_sweeper *s = &h->copies.sweeper;
	pid_t tids[THREADS_MAX];
	size_t n = 0, found = 0;
	*s = (struct sw_hotspot_sweeper){0};
	if (h->snap->priv->task_fd < 0 ||
	    !sw_proc_tids(h->snap->priv->task_fd, tids, THREADS_MAX, &n))
		return;
	for (size_t i = 0; i < n && i < THREADS_MAX; i++) {
		if (!is_sweeper(h, tids[i]))
			continue;
		s->tid = tids[i];
		found++;
	}
	if (found != 1)
		s->tid = 0;
	(void) sw_hotspot_sweeper_slept(h); /* from now on */
}

bool sw_hotspot_sweeper_slept(struct sw_hotspot *h)
{
	struct sw_hotspot_sweeper *s = &h->copies.sweeper;
	uint64_t runs;
	if (s->tid == 0)
		return false;
	if (!runs_read(h, &runs)) {
		s->since_ns = 0;
		return false;
	}
	if (s->since_ns != 0 && runs == s->runs)
		return s->since_ns < h->copies.made_ns;
	s->runs = runs;
	s->since_ns = sw_clock_ns();
	return false;
}
