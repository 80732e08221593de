/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "merge/tree.h"
#include "cleanup.h"
#include "duration.h"
#include "errors.h"
#include "utc.h"
#include "utf8.h"

#include <inttypes.h>
#include <string.h>

enum { SHOWN_LABELS = 8, SINCE_MIN_MS = 1000, DAY_BYTES = 10 };

static int compare_places(const void *a, const void *b, void *arg)
{
	const struct sw_merge *m = arg;
	uint32_t i = *(const uint32_t *) a, j = *(const uint32_t *) b;
	const struct sw_merge_place *x = &m->places[i], *y = &m->places[j];
	if (x->n_processes != y->n_processes)
		return x->n_processes < y->n_processes ? 1 : -1;
	if (x->n_threads != y->n_threads)
		return x->n_threads < y->n_threads ? 1 : -1;
	return (i > j) - (i < j);
}

int sw_merge_children(const struct sw_merge *m, uint32_t place, uint32_t **ret, size_t *ret_n)
{
	size_t n = 0;
	uint32_t c, *children;
	for (c = m->places[place].first_child; c != SW_MERGE_NONE; c = m->places[c].next_sibling)
		n++;
	children = calloc(n + 1, sizeof(*children));
	if (children == NULL)
		return -SW_E_NOMEM;
	n = 0;
	for (c = m->places[place].first_child; c != SW_MERGE_NONE; c = m->places[c].next_sibling)
		if (m->places[c].n_processes > 0)
			children[n++] = c;
	if (n > 1)
		qsort_r(children, n, sizeof(*children), compare_places, (void *) m);
	*ret = children;
	*ret_n = n;
	return 0;
}

uint32_t sw_merge_only_call(const struct sw_merge *m, uint32_t place)
{
	const struct sw_merge_place *p = &m->places[place];
	uint32_t best =
		p->first_here == SW_MERGE_NONE ? sw_merge_best_child(m, place) : SW_MERGE_NONE;
	return best != SW_MERGE_NONE && m->places[best].n_threads == p->n_threads ? best
										  : SW_MERGE_NONE;
}

/* A role and what decides its turn. */
struct turn {
	uint32_t role;
	size_t finding; /* the first one in which processes differ; SIZE_MAX: none */
	bool main;
	uint32_t n_processes;
	uint64_t n_threads;
};

static int compare_turns(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;
	if (x->main != y->main)
		return x->main ? -1 : 1;
	if (x->finding != y->finding)
		return x->finding < y->finding ? -1 : 1;
	if (x->n_processes != y->n_processes)
		return x->n_processes < y->n_processes ? 1 : -1;
	if (x->n_threads != y->n_threads)
		return x->n_threads < y->n_threads ? 1 : -1;
	return (x->role > y->role) - (x->role < y->role);
}

int sw_merge_roles(const struct sw_merge *m, const struct sw_merge_findings *findings,
		   uint32_t **ret, size_t *ret_n)
{
	sw_cleanup(sw_free_p) struct turn *turns = calloc(m->n_roles + 1, sizeof(*turns));
	uint32_t *roles = calloc(m->n_roles + 1, sizeof(*roles));
	size_t n = 0;
	if (turns == NULL || roles == NULL) {
		free(roles);
		return -SW_E_NOMEM;
	}
	for (size_t i = 0; i < m->n_roles; i++) {
		const struct sw_merge_place *root = &m->places[m->roles[i].root];
		turns[i] = (struct turn){.role = (uint32_t) i,
					 .finding = SIZE_MAX,
					 .main = m->roles[i].name == 0,
					 .n_processes = root->n_processes,
					 .n_threads = root->n_threads};
	}
	for (size_t i = findings->n; i > 0; i--)
		if (findings->all[i - 1].n_differ > 0)
			turns[findings->all[i - 1].role].finding = i - 1;
	qsort(turns, m->n_roles, sizeof(*turns), compare_turns);
	for (size_t i = 0; i < m->n_roles; i++)
		if (turns[i].n_processes > 0)
			roles[n++] = turns[i].role;
	*ret = roles;
	*ret_n = n;
	return 0;
}

static void put(struct sw_text *text, const char *s)
{
	sw_utf8_append_plain(text, s, strlen(s));
}

void sw_merge_put_role(struct sw_text *text, const struct sw_merge *m, uint32_t role)
{
	const struct sw_merge_role *r = &m->roles[role];
	put(text, r->name == 0 ? "main thread" : "thread ");
	put(text, sw_merge_string(m, r->name));
	put(text, " of ");
	put(text, sw_merge_string(m, r->program));
}

/* Distinct programs or hosts: at most so many that they are counted. */
static size_t count_hosts(const struct sw_merge *m)
{
	struct sw_map64 seen = {0};
	size_t n = 0;
	for (size_t i = 0; i < m->n_processes; i++)
		(void) sw_map64_put(&seen, sw_mix_text(1, m->processes[i].host), 0); /* a count */
	n = seen.count;
	sw_map64_deinit(&seen);
	return n;
}

static void put_programs(struct sw_text *text, const struct sw_merge *m)
{
	enum { PROGRAMS_MAX = 4 };
	uint32_t programs[PROGRAMS_MAX];
	size_t n = 0, more = 0;
	for (size_t i = 0; i < m->n_processes; i++) {
		size_t at = 0;
		while (at < n && programs[at] != m->processes[i].program)
			at++;
		if (at < n)
			continue;
		if (n < PROGRAMS_MAX)
			programs[n++] = m->processes[i].program;
		else
			more = 1;
	}
	for (size_t i = 0; i < n; i++) {
		put(text, i == 0 ? " of " : ", ");
		put(text, sw_merge_string(m, programs[i]));
	}
	put(text, more > 0 ? " and others" : "");
}

void sw_merge_put_head(struct sw_text *text, const struct sw_merge_labels *labels)
{
	const struct sw_merge *m = labels->m;
	int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
	uint64_t n_threads = 0;
	char first[32], last[32];
	size_t n_hosts = count_hosts(m);
	for (size_t i = 0; i < m->n_processes; i++) {
		const struct sw_merge_process *p = &m->processes[i];
		n_threads += p->n_threads;
		first_ns = p->time_ns < first_ns ? p->time_ns : first_ns;
		last_ns = p->time_ns > last_ns ? p->time_ns : last_ns;
	}
	sw_text_printf(text, "%zu ", m->n_processes);
	put(text, m->n_processes == 1 ? labels->noun : labels->plural);
	put_programs(text, m);
	if (n_hosts > 1)
		sw_text_printf(text, " on %zu hosts", n_hosts);
	else if (m->n_processes > 0 && m->processes[0].host[0] != '\0') {
		put(text, " on ");
		put(text, m->processes[0].host);
	}
	sw_text_printf(text, ", %" PRIu64 " thread%s", n_threads, sw_plural(n_threads));
	if (m->n_processes == 0)
		return;
	sw_utc_format(first, sizeof(first), "%Y-%m-%d %H:%M:%S", first_ns);
	sw_utc_format(last, sizeof(last), "%Y-%m-%d %H:%M:%S", last_ns);
	sw_text_printf(text, ", %s", first);
	if (strncmp(first, last, DAY_BYTES) != 0)
		sw_text_printf(text, " to %s", last);
	else if (strcmp(first, last) != 0)
		sw_text_printf(text, " to %s", last + DAY_BYTES + 1);
	put(text, " UTC");
}

void sw_merge_put_older(struct sw_text *text, const struct sw_merge *m, size_t older)
{
	const struct sw_merge_older *o = &m->older[older];
	put(text, o->name);
	put(text, ": ");
	put(text, m->processes[o->process].name);
	put(text, " is the newest dump of that process");
}

/* Finds the processes at a place and below, and for how long they are there. */
static bool who_find(const struct sw_merge_labels *l, uint32_t place, uint64_t *set,
		     int64_t *ret_least_ms, int64_t *ret_most_ms)
{
	const struct sw_merge *m = l->m;
	*ret_least_ms = *ret_most_ms = -1;
	for (uint32_t p = place; p != SW_MERGE_NONE; p = sw_merge_next(m, place, p))
		for (uint32_t h = m->places[p].first_here; h != SW_MERGE_NONE;
		     h = m->heres[h].next) {
			const struct sw_merge_here *here = &m->heres[h];
			sw_merge_set_add(set, here->process);
			if (here->least_ms >= 0 &&
			    (*ret_least_ms < 0 || here->least_ms < *ret_least_ms))
				*ret_least_ms = here->least_ms;
			if (here->most_ms > *ret_most_ms)
				*ret_most_ms = here->most_ms;
		}
	return *ret_most_ms >= SINCE_MIN_MS;
}

static void put_members(struct sw_text *text, const struct sw_merge_labels *l, uint32_t place,
			uint64_t *set, uint64_t *others)
{
	const struct sw_merge_place *p = &l->m->places[place];
	size_t n_around = l->m->places[p->parent].n_processes;
	if (p->n_processes == n_around) {
		sw_text_printf(text, n_around == 1 ? "" : "all ");
		sw_text_printf(text, "%u ", p->n_processes);
		put(text, n_around == 1 ? l->noun : l->plural);
	} else if (2 * (size_t) p->n_processes > n_around) {
		sw_merge_set_of(l->m, p->parent, others);
		for (size_t i = 0; i < l->n_words; i++)
			others[i] &= ~set[i];
		sw_text_printf(text, "%u ", p->n_processes);
		put(text, l->plural);
		put(text, ", all but ");
		sw_merge_put_set(text, l, others, SHOWN_LABELS);
	} else
		sw_merge_put_set(text, l, set, SHOWN_LABELS);
}

void sw_merge_put_who(struct sw_text *text, const struct sw_merge_labels *labels, uint32_t place)
{
	const struct sw_merge_place *p = &labels->m->places[place];
	sw_cleanup(sw_free_p) uint64_t *set = calloc(labels->n_words + 1, sizeof(*set));
	sw_cleanup(sw_free_p) uint64_t *others = calloc(labels->n_words + 1, sizeof(*others));
	char since[SW_DURATION_RANGE_BYTES];
	int64_t least_ms, most_ms;
	if (set == NULL || others == NULL) {
		sw_text_printf(text, "%u", p->n_processes);
		return;
	}
	bool waits = who_find(labels, place, set, &least_ms, &most_ms);
	put_members(text, labels, place, set, others);
	if (p->n_threads != p->n_processes)
		sw_text_printf(text, ", %" PRIu64 " threads", p->n_threads);
	if (waits) {
		sw_duration_format_range(since, least_ms, most_ms);
		sw_text_printf(text, ", for %s", since);
	}
}
