/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Threads of a role are followed from their outermost call to where processes part. Where at least half of them go on
 * together, the others are those that differ; then those who are together are followed further.
 */
#include "merge/findings.h"
#include "cleanup.h"
#include "duration.h"
#include "errors.h"
#include "utf8.h"

#include <string.h>

enum {
	FINDINGS_MAX = 256,
	FIRST = 16,
	SINCE_MIN_MS = 1000,
	SHARE = 4, /* below the first place where processes part: at most a quarter differ */
	SHOWN_LABELS = 8,
};

bool sw_merge_finding_is_main(const struct sw_merge *m, const struct sw_merge_finding *finding)
{
	return m->roles[finding->role].name == 0;
}

uint32_t sw_merge_best_child(const struct sw_merge *m, uint32_t place)
{
	uint32_t best = SW_MERGE_NONE;
	for (uint32_t c = m->places[place].first_child; c != SW_MERGE_NONE;
	     c = m->places[c].next_sibling) {
		const struct sw_merge_place *x = &m->places[c];
		const struct sw_merge_place *b = best != SW_MERGE_NONE ? &m->places[best] : NULL;
		if (x->n_processes == 0)
			continue;
		/* The first found of equals is best: it is behind its younger siblings. */
		if (b == NULL || x->n_processes > b->n_processes ||
		    (x->n_processes == b->n_processes && x->n_threads >= b->n_threads))
			best = c;
	}
	return best;
}

uint32_t sw_merge_next(const struct sw_merge *m, uint32_t root, uint32_t place)
{
	if (m->places[place].first_child != SW_MERGE_NONE)
		return m->places[place].first_child;
	while (place != root && m->places[place].next_sibling == SW_MERGE_NONE)
		place = m->places[place].parent;
	return place != root ? m->places[place].next_sibling : SW_MERGE_NONE;
}

static void here_set(const struct sw_merge *m, uint32_t place, uint64_t *set)
{
	for (uint32_t h = m->places[place].first_here; h != SW_MERGE_NONE; h = m->heres[h].next)
		sw_merge_set_add(set, m->heres[h].process);
}

void sw_merge_set_of(const struct sw_merge *m, uint32_t place, uint64_t *set)
{
	for (uint32_t p = place; p != SW_MERGE_NONE; p = sw_merge_next(m, place, p))
		here_set(m, p, set);
}

static uint64_t *set_new(struct sw_merge_findings *f, const struct sw_merge_labels *l)
{
	return sw_arena_calloc(&f->arena, l->n_words, sizeof(uint64_t));
}

/* For how long those of the set are at a place or below. */
static void since_find(const struct sw_merge *m, uint32_t place, bool below,
		       struct sw_merge_odd *odd)
{
	odd->least_ms = odd->most_ms = -1;
	for (uint32_t p = place; p != SW_MERGE_NONE;
	     p = below ? sw_merge_next(m, place, p) : SW_MERGE_NONE)
		for (uint32_t h = m->places[p].first_here; h != SW_MERGE_NONE;
		     h = m->heres[h].next) {
			const struct sw_merge_here *here = &m->heres[h];
			if (!sw_merge_set_has(odd->set, here->process) || here->least_ms < 0)
				continue;
			if (odd->least_ms < 0 || here->least_ms < odd->least_ms)
				odd->least_ms = here->least_ms;
			if (here->most_ms > odd->most_ms)
				odd->most_ms = here->most_ms;
		}
}

/* Moves the members of rest that are in from to a set of their own. NULL: there is none, or no memory, which failed says. */
static uint64_t *split(struct sw_merge_findings *f, const struct sw_merge_labels *l, uint64_t *rest,
		       const uint64_t *from, bool *failed)
{
	uint64_t any = 0;
	for (size_t i = 0; i < l->n_words; i++)
		any |= rest[i] & from[i];
	uint64_t *set = any != 0 ? set_new(f, l) : NULL;
	*failed |= any != 0 && set == NULL;
	for (size_t i = 0; set != NULL && i < l->n_words; i++) {
		set[i] = rest[i] & from[i];
		rest[i] &= ~from[i];
	}
	return set;
}

static int compare_odd(const void *a, const void *b)
{
	const struct sw_merge_odd *x = a, *y = b;
	if (x->n != y->n)
		return x->n < y->n ? 1 : -1;
	return (x->place > y->place) - (x->place < y->place);
}

static void odd_add(const struct sw_merge_labels *l, struct sw_merge_finding *finding,
		    uint32_t place, uint64_t *set, bool below)
{
	struct sw_merge_odd *odd = &finding->odd[finding->n_odd++];
	*odd = (struct sw_merge_odd){.place = place,
				     .set = set,
				     .n = sw_merge_set_count(set, l->n_words),
				     .least_ms = -1,
				     .most_ms = -1};
	if (place != SW_MERGE_NONE)
		since_find(l->m, place, below, odd);
}

/* Where those of rest are who are at the parent, but not in the child where most are. */
static int odd_find(struct sw_merge_findings *f, const struct sw_merge_labels *l,
		    struct sw_merge_finding *finding, uint32_t parent, uint32_t best,
		    uint64_t *rest)
{
	const struct sw_merge *m = l->m;
	bool failed = false;
	uint64_t *from = set_new(f, l), *set;
	if (from == NULL)
		return -SW_E_NOMEM;
	here_set(m, parent, from);
	set = split(f, l, rest, from, &failed);
	if (set != NULL)
		odd_add(l, finding, parent, set, false);
	for (uint32_t c = m->places[parent].first_child;
	     c != SW_MERGE_NONE && finding->n_odd < SW_MERGE_ODD_MAX;
	     c = m->places[c].next_sibling) {
		if (c == best)
			continue;
		memset(from, 0, l->n_words * sizeof(*from));
		sw_merge_set_of(m, c, from);
		set = split(f, l, rest, from, &failed);
		if (set != NULL)
			odd_add(l, finding, c, set, true);
	}
	qsort(finding->odd, finding->n_odd, sizeof(finding->odd[0]), compare_odd);
	if (sw_merge_set_count(rest, l->n_words) > 0)
		odd_add(l, finding, SW_MERGE_NONE, rest, false);
	return failed ? -SW_E_NOMEM : 0;
}

static int finding_push(struct sw_merge_findings *f, const struct sw_merge_finding *finding)
{
	struct sw_merge_finding *grown = sw_grow(f->all, f->n, &f->capacity, FIRST, sizeof(*grown));
	if (grown == NULL)
		return -SW_E_NOMEM;
	f->all = grown;
	f->all[f->n++] = *finding;
	return 0;
}

static bool same_function(const struct sw_merge *m, uint32_t a, uint32_t b)
{
	const struct sw_merge_frame *x = sw_merge_frame_of(m, a), *y = sw_merge_frame_of(m, b);
	return x->function == y->function && x->module == y->module;
}

/* The only call that a place makes; itself where it makes none or several. */
static uint32_t only_call(const struct sw_merge *m, uint32_t place)
{
	uint32_t best = sw_merge_best_child(m, place);
	return best != SW_MERGE_NONE && m->places[best].n_processes == m->places[place].n_processes
		       ? best
		       : place;
}

/* Places that are lines of one function are told by what is called there. */
static void name_by_calls(const struct sw_merge *m, uint32_t parent,
			  struct sw_merge_finding *finding)
{
	bool lines = false;
	for (size_t i = 0; i < finding->n_odd; i++) {
		uint32_t place = finding->odd[i].place;
		lines |= place != SW_MERGE_NONE && place != parent &&
			 same_function(m, place, finding->place);
	}
	if (!lines)
		return;
	for (size_t i = 0; i < finding->n_odd; i++) {
		uint32_t *place = &finding->odd[i].place;
		if (*place != SW_MERGE_NONE && *place != parent &&
		    same_function(m, *place, finding->place))
			*place = only_call(m, *place);
	}
	finding->place = only_call(m, finding->place);
}

static int part(struct sw_merge_findings *f, const struct sw_merge_labels *l, uint32_t role,
		uint32_t parent, uint32_t best)
{
	const struct sw_merge *m = l->m;
	struct sw_merge_finding finding = {.kind = SW_MERGE_ELSEWHERE,
					   .role = role,
					   .place = best,
					   .n_there = m->places[best].n_processes,
					   .n_all = m->places[parent].n_processes};
	uint64_t *rest = set_new(f, l), *there = set_new(f, l);
	if (rest == NULL || there == NULL)
		return -SW_E_NOMEM;
	sw_merge_set_of(m, parent, rest);
	sw_merge_set_of(m, best, there);
	for (size_t i = 0; i < l->n_words; i++)
		rest[i] &= ~there[i];
	finding.n_differ = sw_merge_set_count(rest, l->n_words);
	int r = odd_find(f, l, &finding, parent, best, rest);
	name_by_calls(m, parent, &finding);
	return r == 0 ? finding_push(f, &finding) : r;
}

/* The innermost call of the program's own on the way to a place. */
static uint32_t own_place(const struct sw_merge *m, uint32_t place)
{
	uint32_t own = place;
	while (m->places[own].parent != SW_MERGE_NONE && sw_merge_frame_of(m, own)->libc)
		own = m->places[own].parent;
	return m->places[own].parent != SW_MERGE_NONE ? own : place;
}

static size_t count_children(const struct sw_merge *m, uint32_t place)
{
	size_t n = m->places[place].first_here != SW_MERGE_NONE;
	for (uint32_t c = m->places[place].first_child; c != SW_MERGE_NONE;
	     c = m->places[c].next_sibling)
		n += m->places[c].n_processes > 0;
	return n;
}

static int role_follow(struct sw_merge_findings *f, const struct sw_merge_labels *l, uint32_t role)
{
	const struct sw_merge *m = l->m;
	uint32_t place = m->roles[role].root, best;
	size_t n_all = m->places[place].n_processes, found = 0;
	int r = 0;
	while (r == 0 && f->n < FINDINGS_MAX &&
	       (best = sw_merge_best_child(m, place)) != SW_MERGE_NONE) {
		size_t n = m->places[place].n_processes, there = m->places[best].n_processes;
		if (2 * there < n)
			break;
		if (there < n && (found == 0 || SHARE * (n - there) <= n)) {
			r = part(f, l, role, place, best);
			found++;
		}
		place = best;
	}
	if (r < 0 || found > 0 || m->roles[role].name != 0 || n_all == 0 || f->n >= FINDINGS_MAX)
		return r;
	best = sw_merge_best_child(m, place);
	struct sw_merge_finding finding = {
		.kind = best == SW_MERGE_NONE ? SW_MERGE_ALL : SW_MERGE_SPREAD,
		.role = role,
		.place = own_place(m, best != SW_MERGE_NONE ? best : place),
		.n_there = m->places[best != SW_MERGE_NONE ? best : place].n_processes,
		.n_all = n_all,
		.n_places = count_children(m, place)};
	return finding_push(f, &finding);
}

/* A thread that most of the n_all processes of a program have, and some have not. */
static int role_missing(struct sw_merge_findings *f, const struct sw_merge_labels *l, uint32_t role,
			size_t n_all)
{
	const struct sw_merge *m = l->m;
	const struct sw_merge_role *x = &m->roles[role];
	const size_t n_there = m->places[x->root].n_processes;
	if (n_there == n_all || 2 * n_there < n_all || f->n >= FINDINGS_MAX)
		return 0;
	uint64_t *rest = set_new(f, l), *there = set_new(f, l);
	if (rest == NULL || there == NULL)
		return -SW_E_NOMEM;
	for (size_t i = 0; i < m->n_processes; i++)
		if (m->processes[i].program == x->program)
			sw_merge_set_add(rest, i);
	sw_merge_set_of(m, x->root, there);
	for (size_t i = 0; i < l->n_words; i++)
		rest[i] &= ~there[i];
	struct sw_merge_finding finding = {.kind = SW_MERGE_NO_THREAD,
					   .role = role,
					   .place = SW_MERGE_NONE,
					   .n_there = n_there,
					   .n_all = n_all,
					   .n_differ = n_all - n_there};
	odd_add(l, &finding, SW_MERGE_NONE, rest, false);
	return finding_push(f, &finding);
}

/* How many processes a program has, by the string that is its name. NULL: no memory. */
static uint32_t *programs_count(const struct sw_merge *m)
{
	uint32_t *counts = calloc(m->n_strings + 1, sizeof(*counts));
	for (size_t i = 0; counts != NULL && i < m->n_processes; i++)
		counts[m->processes[i].program]++;
	return counts;
}

struct order {
	const struct sw_merge *m;
};

static int compare_findings(const void *a, const void *b, void *arg)
{
	const struct sw_merge_finding *x = a, *y = b;
	const struct order *order = arg;
	bool x_alike = x->n_differ == 0, y_alike = y->n_differ == 0;
	bool x_main = sw_merge_finding_is_main(order->m, x);
	bool y_main = sw_merge_finding_is_main(order->m, y);
	if (x_alike != y_alike)
		return x_alike ? 1 : -1;
	if (x->n_differ != y->n_differ)
		return x->n_differ < y->n_differ ? -1 : 1;
	if (x_main != y_main)
		return x_main ? -1 : 1;
	if (x->n_all != y->n_all)
		return x->n_all < y->n_all ? 1 : -1;
	return (x->role > y->role) - (x->role < y->role);
}

int sw_merge_findings_make(struct sw_merge_findings *ret, const struct sw_merge_labels *labels)
{
	const struct sw_merge *m = labels->m;
	struct order order = {.m = m};
	sw_cleanup(sw_free_p) uint32_t *processes_of = programs_count(m);
	int r = processes_of != NULL ? 0 : -SW_E_NOMEM;
	*ret = (struct sw_merge_findings){0};
	for (uint32_t i = 0; r == 0 && i < m->n_roles; i++) {
		r = role_follow(ret, labels, i);
		if (r == 0 && m->roles[i].name != 0)
			r = role_missing(ret, labels, i, processes_of[m->roles[i].program]);
	}
	if (ret->n > 1)
		qsort_r(ret->all, ret->n, sizeof(*ret->all), compare_findings, &order);
	return r;
}

void sw_merge_findings_deinit(struct sw_merge_findings *findings)
{
	sw_arena_deinit(&findings->arena);
	free(findings->all);
	*findings = (struct sw_merge_findings){0};
}

static void put(struct sw_text *text, const char *s)
{
	sw_utf8_append_plain(text, s, strlen(s));
}

void sw_merge_put_place(struct sw_text *text, const struct sw_merge *m, uint32_t place)
{
	const struct sw_merge_frame *f = sw_merge_frame_of(m, place);
	if (m->places[place].parent == SW_MERGE_NONE) {
		put(text, "no call");
		return;
	}
	put(text, sw_merge_string(m, f->function));
	if (f->line == 0 && f->module == 0)
		return;
	put(text, " (");
	if (f->line > 0) {
		put(text, sw_merge_string(m, f->file));
		sw_text_printf(text, ":%u%s", f->line, f->module != 0 ? ", " : "");
	}
	put(text, sw_merge_string(m, f->module));
	put(text, ")");
}

/* ", for 14 min" */
static void put_since(struct sw_text *text, const struct sw_merge_odd *odd)
{
	char since[SW_DURATION_RANGE_BYTES];
	if (odd->most_ms < SINCE_MIN_MS)
		return;
	sw_duration_format_range(since, odd->least_ms, odd->most_ms);
	sw_text_printf(text, ", for %s", since);
}

/* "thread heartbeat of server: " */
static void put_role(struct sw_text *text, const struct sw_merge *m,
		     const struct sw_merge_finding *finding)
{
	const struct sw_merge_role *role = &m->roles[finding->role];
	bool programs = false;
	for (size_t i = 1; i < m->n_processes; i++)
		programs |= m->processes[i].program != m->processes[0].program;
	if (role->name != 0) {
		put(text, "thread ");
		put(text, sw_merge_string(m, role->name));
	}
	if (programs) {
		put(text, role->name != 0 ? " of " : "");
		put(text, sw_merge_string(m, role->program));
	}
	put(text, role->name != 0 || programs ? ": " : "");
}

static void put_odd(struct sw_text *text, const struct sw_merge_labels *l,
		    const struct sw_merge_odd *odd)
{
	sw_merge_put_set(text, l, odd->set, SHOWN_LABELS);
	put(text, odd->n == 1 ? " is " : " are ");
	if (odd->place == SW_MERGE_NONE) {
		put(text, "elsewhere");
		return;
	}
	put(text, "in ");
	sw_merge_put_place(text, l->m, odd->place);
	put_since(text, odd);
}

void sw_merge_put_finding(struct sw_text *text, const struct sw_merge_labels *labels,
			  const struct sw_merge_finding *finding)
{
	const char *nouns = finding->n_all == 1 ? labels->noun : labels->plural;
	put_role(text, labels->m, finding);
	switch (finding->kind) {
	case SW_MERGE_ALL:
		sw_text_printf(text, finding->n_all == 1 ? "the only " : "all %zu ",
			       finding->n_all);
		put(text, nouns);
		put(text, finding->n_all == 1 ? " is in " : " are in ");
		sw_merge_put_place(text, labels->m, finding->place);
		return;
	case SW_MERGE_SPREAD:
		sw_text_printf(text, "%zu ", finding->n_all);
		put(text, nouns);
		sw_text_printf(text, " are in %zu places, %zu of them in ", finding->n_places,
			       finding->n_there);
		sw_merge_put_place(text, labels->m, finding->place);
		return;
	case SW_MERGE_NO_THREAD:
		sw_merge_put_set(text, labels, finding->odd[0].set, SHOWN_LABELS);
		put(text, finding->n_differ == 1 ? " has" : " have");
		sw_text_printf(text, " no such thread, which %zu of %zu ", finding->n_there,
			       finding->n_all);
		put(text, nouns);
		put(text, " have");
		return;
	case SW_MERGE_ELSEWHERE: break;
	}
	sw_text_printf(text, "%zu of %zu ", finding->n_there, finding->n_all);
	put(text, nouns);
	put(text, finding->n_there == 1 ? " is in " : " are in ");
	sw_merge_put_place(text, labels->m, finding->place);
	for (size_t i = 0; i < finding->n_odd; i++) {
		put(text, "; ");
		put_odd(text, labels, &finding->odd[i]);
	}
}
