/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "merge/newest.h"
#include "errors.h"

#include <string.h>

enum { FIRST = 16, REMOVED = SW_MERGE_NONE - 1 /* is no process's index */ };

static bool is_same(const struct sw_merge_process *p, const struct sw_report *report)
{
	return p->pid == report->process.pid && p->starttime == report->process.starttime &&
	       strcmp(p->host, report->host_name) == 0;
}

int sw_merge_same_find(struct sw_merge *m, const struct sw_report *report, uint32_t process,
		       uint32_t *ret)
{
	uint64_t found;
	*ret = SW_MERGE_NONE;
	if (report->process.starttime == 0 || report->host_name == NULL ||
	    report->host_name[0] == '\0')
		return 0;
	uint64_t h = sw_mix64((uint64_t) report->process.pid);
	h = sw_mix_text(sw_mix64(h ^ report->process.starttime), report->host_name);
	/* Others may have the same hash, by chance or as somebody made them. */
	for (; sw_map64_get(&m->processes_by_hash, h, &found); h = sw_mix64(h + 1))
		if (found < m->n_processes && is_same(&m->processes[found], report)) {
			*ret = (uint32_t) found;
			return 0;
		}
	return sw_map64_put(&m->processes_by_hash, h, process);
}

int sw_merge_older_add(struct sw_merge *m, const char *name, uint32_t process)
{
	struct sw_merge_older *grown =
		sw_grow(m->older, m->n_older, &m->older_capacity, FIRST, sizeof(*grown));
	if (grown == NULL)
		return -SW_E_NOMEM;
	m->older = grown;
	name = sw_arena_strdup(&m->arena, name);
	if (name == NULL)
		return -SW_E_NOMEM;
	grown[m->n_older++] = (struct sw_merge_older){.name = name, .process = process};
	return 0;
}

static void unlink_here(struct sw_merge *m, uint32_t index)
{
	const struct sw_merge_here *here = &m->heres[index];
	if (here->before != SW_MERGE_NONE)
		m->heres[here->before].next = here->next;
	else
		m->places[here->place].first_here = here->next;
	if (here->next != SW_MERGE_NONE)
		m->heres[here->next].before = here->before;
}

void sw_merge_process_clear(struct sw_merge *m, uint32_t process)
{
	struct sw_merge_process *p = &m->processes[process];
	uint32_t h = p->first_own, last = SW_MERGE_NONE;
	for (; h != SW_MERGE_NONE; h = m->heres[h].next_own) {
		const struct sw_merge_here *here = &m->heres[h];
		for (uint32_t at = here->place; at != SW_MERGE_NONE; at = m->places[at].parent) {
			struct sw_merge_place *place = &m->places[at];
			place->n_threads -= here->n_threads;
			if (place->last_process != REMOVED)
				place->n_processes--;
			place->last_process = REMOVED;
		}
		unlink_here(m, h);
		last = h;
	}
	/* Each place is counted anew for whoever comes next. */
	for (h = p->first_own; h != SW_MERGE_NONE; h = m->heres[h].next_own)
		for (uint32_t at = m->heres[h].place;
		     at != SW_MERGE_NONE && m->places[at].last_process == REMOVED;
		     at = m->places[at].parent)
			m->places[at].last_process = SW_MERGE_NONE;
	if (last != SW_MERGE_NONE) {
		m->heres[last].next_own = m->free_heres;
		m->free_heres = p->first_own;
	}
	m->left_threads -= p->left_threads;
	p->first_own = SW_MERGE_NONE;
	p->left_threads = 0;
}
