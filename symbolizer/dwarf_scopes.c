/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "dwarf_scopes.h"
#include "dwarf/deadline.h"

#include <dwarf.h>

enum {
	NESTING_MAX = 64, /* namespaces in namespaces */
	STEPS_MAX = 1 << 26,
	STEPS_DEADLINE_EVERY = 4096,
};

struct search {
	const struct sw_dwarf_want *wants;
	const struct sw_dwarf_skeleton *skeleton; /* NULL: the unit is whole */
	size_t n, n_found;
	struct sw_scopes *scopes;
	struct sw_dwarf_functions *made; /* all functions go there instead; NULL */
	int64_t deadline_ns;
	uint32_t steps; /* DIEs, ranges of DIEs and addresses that were compared with a range */
	bool nested;    /* in functions, too */
	bool stopped;
};

/* Counts a step. False: the deadline or the limit of steps has ended the search. */
static bool step_count(struct search *s)
{
	if (++s->steps % STEPS_DEADLINE_EVERY == 0)
		s->stopped |= s->steps >= STEPS_MAX || sw_deadline_passed(s->deadline_ns);
	return !s->stopped;
}

/* Counts a DIE. False ends the search. */
static bool search_goes_on(struct search *s)
{
	return step_count(s) && (s->made != NULL || s->n_found < s->n);
}

static bool ranges_hold(struct search *s, Dwarf_Die *die, uint64_t svma)
{
	struct sw_dwarf_ranges ranges;
	uint64_t start, end;
	sw_dwarf_ranges_begin(&ranges, die, s->skeleton);
	while (step_count(s) && sw_dwarf_ranges_next(&ranges, &start, &end))
		if (svma >= start && svma < end)
			return true;
	return false;
}

/* The child that holds the address and may hold inlined calls; false when there is none. */
static bool scope_below(struct search *s, Dwarf_Die *parent, uint64_t svma, Dwarf_Die *ret)
{
	Dwarf_Die child;
	if (dwarf_child(parent, &child) != 0)
		return false;
	do {
		if (!search_goes_on(s))
			return false;
		int tag = dwarf_tag(&child);
		bool scope = tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
			     tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
		if (scope && ranges_hold(s, &child, svma)) {
			*ret = child;
			return true;
		}
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

/* Goes down from the function to the innermost inlined call at the address. */
static void function_enter(struct search *s, Dwarf_Die *function, size_t i)
{
	struct sw_scopes *scopes = &s->scopes[i];
	Dwarf_Die scope = *function;
	scopes->function = *function;
	while (scope_below(s, &scope, s->wants[i].svma, &scope)) {
		if (dwarf_tag(&scope) != DW_TAG_inlined_subroutine)
			continue;
		if (scopes->n_inlined == SW_INLINES_MAX)
			break;
		scopes->inlined[scopes->n_inlined++] = scope;
	}
	scopes->found = true;
	s->n_found++;
}

/* The first want at an address or behind it. */
static size_t wants_from(const struct search *s, uint64_t svma)
{
	size_t low = 0, high = s->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (s->wants[middle].svma < svma)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void function_match(struct search *s, Dwarf_Die *function)
{
	struct sw_dwarf_ranges ranges;
	uint64_t start, end;
	sw_dwarf_ranges_begin(&ranges, function, s->skeleton);
	while (step_count(s) && sw_dwarf_ranges_next(&ranges, &start, &end)) {
		if (s->made != NULL) {
			s->stopped = !sw_dwarf_functions_add(s->made, start, end, function);
			continue;
		}
		for (size_t i = wants_from(s, start);
		     i < s->n && s->wants[i].svma < end && step_count(s); i++)
			if (!s->scopes[i].found)
				function_enter(s, function, i);
	}
}

static bool has_code(Dwarf_Die *die)
{
	return dwarf_hasattr(die, DW_AT_low_pc) || dwarf_hasattr(die, DW_AT_ranges);
}

static void functions_search(struct search *s, Dwarf_Die *parent, int nesting)
{
	Dwarf_Die child;
	if (nesting == NESTING_MAX || dwarf_child(parent, &child) != 0)
		return;
	do {
		if (!search_goes_on(s))
			return;
		switch (dwarf_tag(&child)) {
		case DW_TAG_subprogram:
			if (has_code(&child))
				function_match(s, &child);
			if (s->nested)
				functions_search(s, &child, nesting + 1);
			break;
		case DW_TAG_lexical_block:
			if (s->nested)
				functions_search(s, &child, nesting + 1);
			break;
		case DW_TAG_namespace:
		case DW_TAG_module: functions_search(s, &child, nesting + 1); break;
		default: break;
		}
	} while (dwarf_siblingof(&child, &child) == 0);
}

/* Makes the table of a unit when it is due. */
static void functions_make(struct sw_dwarf_functions *functions, Dwarf_Die *unit,
			   int64_t deadline_ns)
{
	if (!sw_dwarf_functions_are_due(functions))
		return;
	struct search all = {.made = functions, .deadline_ns = deadline_ns};
	functions_search(&all, unit, 0);
	sw_dwarf_functions_finish(functions, !all.stopped);
}

static void by_table(struct search *s, const struct sw_dwarf_functions *functions)
{
	for (size_t i = 0; i < s->n && !s->stopped; i++) {
		const Dwarf_Die *found = sw_dwarf_functions_find(functions, s->wants[i].svma);
		Dwarf_Die function;
		if (found == NULL)
			continue;
		function = *found;
		function_enter(s, &function, i);
	}
}

bool sw_dwarf_scopes_find(Dwarf_Die *unit, const struct sw_dwarf_skeleton *skeleton,
			  struct sw_dwarf_functions *functions, const struct sw_dwarf_want *wants,
			  size_t n, struct sw_scopes *scopes, int64_t deadline_ns)
{
	struct search search = {.wants = wants,
				.skeleton = skeleton,
				.n = n,
				.scopes = scopes,
				.deadline_ns = deadline_ns};
	if (functions != NULL)
		functions_make(functions, unit, deadline_ns);
	if (functions != NULL && functions->all != NULL) {
		by_table(&search, functions);
	} else {
		functions_search(&search, unit, 0);
		if (functions != NULL)
			functions->n_searches++;
	}
	/* Functions in functions (Ada, Pascal, D, Fortran; an extension of gcc's C) lie in none by their
	 * addresses. To look into all costs more, and few programs have them. */
	search.nested = true;
	if (!search.stopped && search.n_found < n)
		functions_search(&search, unit, 0);
	return !search.stopped;
}
