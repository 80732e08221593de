/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pe_target.h"
#include "dwarf/deadline.h"
#include "symtab.h"

#include <stdlib.h>

enum {
	DEADLINE_EVERY = 1 << 12, /* symbols, or matches: of hostile ones each may cost 10 us */
	MATCHES_MAX = 1 << 26,    /* symbol and address pairs in one scan */
	/* For i386 no table says where a function ends: an export names what is near behind it, as those
	 * between exports have no names. */
	EXPORT_REACH = 4096,
};

static int target_compare(const void *a, const void *b)
{
	const struct sw_pe_target *x = a, *y = b;
	return (x->high_rva > y->high_rva) - (x->high_rva < y->high_rva);
}

static void targets_add(struct sw_pe_scan *scan, struct sw_bytes functions, uint32_t want,
			uint32_t rva)
{
	struct sw_pe_file_extent extent = sw_pe_file_extent(scan->pe, functions, rva);
	const struct sw_pe_section *section = sw_pe_image_section(&scan->pe->headers, rva);
	uint32_t begin = section != NULL ? section->rva : 0;
	if (extent.begin_rva > begin)
		begin = extent.begin_rva;
	scan->targets[scan->n++] = (struct sw_pe_target){.low_rva = begin,
							 .high_rva = rva,
							 .covered = extent.covered,
							 .begin_rva = begin,
							 .want = want};
	if (extent.covered && extent.primary_rva != extent.begin_rva)
		scan->targets[scan->n++] = (struct sw_pe_target){.low_rva = extent.primary_rva,
								 .high_rva = extent.primary_rva,
								 .covered = true,
								 .primary = true,
								 .begin_rva = begin,
								 .want = want};
}

int sw_pe_scan_init(struct sw_pe_scan *scan, const struct sw_pe_file *pe,
		    const struct sw_want *wants, size_t n, int64_t deadline_ns)
{
	struct sw_bytes functions = {0};
	*scan = (struct sw_pe_scan){.pe = pe, .deadline_ns = deadline_ns};
	scan->targets = calloc(2 * n + 1, sizeof(*scan->targets));
	if (scan->targets == NULL)
		return -SW_E_NOMEM;
	(void) sw_pe_file_directory(pe, pe->headers.exception,
				    &functions); /* none: all is like leaf functions */
	for (uint32_t i = 0; i < n; i++)
		if (wants[i].name == NULL && wants[i].svma <= UINT32_MAX)
			targets_add(scan, functions, i, (uint32_t) wants[i].svma);
	qsort(scan->targets, scan->n, sizeof(*scan->targets), target_compare);
	return 0;
}

void sw_pe_scan_deinit(struct sw_pe_scan *scan)
{
	free(scan->targets);
	scan->targets = NULL;
}

static bool candidate_better(const struct sw_pe_target *target, const struct sw_pe_candidate *c)
{
	const struct sw_pe_candidate *best = &target->best;
	bool function = c->rank < SW_PE_RANK_NO_FUNCTION,
	     best_is = best->rank < SW_PE_RANK_NO_FUNCTION;
	if (!best->found || (target->covered && function != best_is))
		return !best->found || function;
	if (c->start_rva != best->start_rva)
		return c->start_rva > best->start_rva;
	if (c->rank != best->rank || c->name == NULL)
		return c->rank < best->rank;
	return sw_symbol_name_better(c->name, c->name_bytes, best->name, best->name_bytes);
}

/* Index of the first target whose address is at or after rva. */
static size_t targets_from(const struct sw_pe_scan *scan, uint32_t rva)
{
	size_t low = 0, high = scan->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (scan->targets[middle].high_rva < rva)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Functions do not overlap, so that the targets of a start stand together. */
bool sw_pe_scan_wants(const struct sw_pe_scan *scan, uint32_t rva, size_t *ret_first)
{
	*ret_first = targets_from(scan, rva);
	return *ret_first < scan->n && scan->targets[*ret_first].low_rva <= rva;
}

void sw_pe_scan_consider(struct sw_pe_scan *scan, size_t first, const struct sw_pe_candidate *c)
{
	for (size_t i = first; i < scan->n && scan->targets[i].low_rva <= c->start_rva; i++) {
		scan->matches++;
		/* Where nothing says how far a function reaches, that of a section may have ended before. */
		if (c->rank == SW_PE_RANK_SECTION && !scan->targets[i].covered)
			continue;
		if (candidate_better(&scan->targets[i], c))
			scan->targets[i].best = *c;
	}
}

bool sw_pe_scan_late(struct sw_pe_scan *scan, size_t i)
{
	scan->cut |= scan->matches > MATCHES_MAX;
	if (scan->cut)
		return true;
	if (i % DEADLINE_EVERY != 0 && scan->matches - scan->matches_seen < DEADLINE_EVERY)
		return false;
	scan->matches_seen = scan->matches;
	scan->cut = sw_deadline_passed(scan->deadline_ns);
	return scan->cut;
}

/* Whether a target's best is to replace what another target of the same address found: the address's
 * own part of the function goes first, unless only the start of the whole has a function's symbol. */
static bool target_preferred(const struct sw_pe_target *target, const struct sw_want *want)
{
	bool function = target->best.rank < SW_PE_RANK_NO_FUNCTION;
	bool has = want->rank < SW_PE_RANK_NO_FUNCTION;
	return target->primary ? function && !has : function || !has;
}

/* Without a table of functions: whether the symbol that was found is that of the address. */
static bool is_of_address(const struct sw_pe_scan *scan, const struct sw_pe_target *target,
			  enum sw_symbol_source source)
{
	if (!scan->pe->headers.is_32bit)
		return true;
	return !scan->cut && (source != SW_SOURCE_EXPORTS ||
			      target->high_rva - target->best.start_rva <= EXPORT_REACH);
}

static int target_settle(const struct sw_pe_target *target, enum sw_symbol_source source,
			 struct sw_want *want, const struct sw_request *request)
{
	const struct sw_pe_candidate *best = &target->best;
	if (!best->found || (want->name != NULL && !target_preferred(target, want)))
		return 0;
	want->name = best->name;
	want->name_bytes = best->name_bytes;
	if (best->name == NULL) {
		want->name = sw_arena_printf(request->arena, "Ordinal%u", best->ordinal);
		if (want->name == NULL)
			return -SW_E_NOMEM;
		want->name_bytes = strlen(want->name);
	}
	/* A part may lie before the function's start; offsets then count from the part's. */
	want->start_svma = best->start_rva <= want->svma ? best->start_rva : target->begin_rva;
	want->rank = best->rank;
	want->source = source;
	return 0;
}

int sw_pe_scan_settle(const struct sw_pe_scan *scan, enum sw_symbol_source source,
		      struct sw_want *wants, const struct sw_request *request)
{
	int r = 0;
	for (size_t i = 0; i < scan->n && r == 0; i++)
		if (is_of_address(scan, &scan->targets[i], source))
			r = target_settle(&scan->targets[i], source, &wants[scan->targets[i].want],
					  request);
	return r;
}
