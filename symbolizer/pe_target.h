/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PE_TARGET_H
#define SW_PE_TARGET_H

#include "provider.h"
#include "unit.h"

/*
 * Which of a PE file's symbols names an address. Neither COFF symbols nor exports say how long a
 * function is. The exception directory does: an address is only named by a symbol of its own
 * function, or of the function that this part of one belongs to. In code without entries, which are
 * leaf functions and assembly, it is named by the nearest symbol that no function lies behind.
 *	1. in a function, symbols of functions and external ones before labels;
 *	2. the last start before the address;
 *	3. functions before others, external before static, names before ordinals and sections, then the fewest
 *	   leading underscores, the shortest, the first in strcmp order.
 */

/* Ranks; fewer is better. External symbols without a function's type are those of assembly, where each
 * may be entered, like the thousand ObjectStublessClients that share one entry in Wine 10's rpcrt4. */
enum {
	SW_PE_RANK_STATIC = 1,
	SW_PE_RANK_ORDINAL,
	SW_PE_RANK_EXTERNAL, /* not said to be a function */
	SW_PE_RANK_SECTION,  /* ".text$f", the section that a compiler made for f alone */
	SW_PE_RANK_NO_FUNCTION,
};

struct sw_pe_candidate {
	bool found;
	uint32_t start_rva;
	uint32_t rank;
	const char *name; /* borrowed from the image, not NUL-terminated; NULL: by ordinal */
	size_t name_bytes;
	uint32_t ordinal;
};

/* Where a symbol has to start to name an address. */
struct sw_pe_target {
	uint32_t low_rva, high_rva; /* [low, high] */
	bool covered;               /* by an entry of the exception directory */
	bool primary;       /* high is the start of the function that the address is part of */
	uint32_t begin_rva; /* of the address's own part of the function */
	uint32_t want;      /* index */
	struct sw_pe_candidate best;
};

/* A pass over symbols in any order. */
struct sw_pe_scan {
	const struct sw_pe_file *pe;
	struct sw_pe_target *targets; /* owned; by high_rva */
	size_t n;
	size_t matches, matches_seen; /* so far; and when the clock was looked at */
	bool cut; /* not all symbols were looked at: the nearest one may be missing */
	int64_t deadline_ns;
};

/* For the wants (sorted by svma) that have no name yet. 0 or -SW_E_NOMEM. */
int sw_pe_scan_init(struct sw_pe_scan *scan, const struct sw_pe_file *pe,
		    const struct sw_want *wants, size_t n, int64_t deadline_ns);
void sw_pe_scan_deinit(struct sw_pe_scan *scan);

/* Whether a symbol that starts there may name an address; the index of the first one's target. */
bool sw_pe_scan_wants(const struct sw_pe_scan *scan, uint32_t rva, size_t *ret_first);
/* Offers a symbol, of which sw_pe_scan_wants() gave first. */
void sw_pe_scan_consider(struct sw_pe_scan *scan, size_t first, const struct sw_pe_candidate *c);
/* Before the i-th symbol: the deadline or the limit of work was reached. */
bool sw_pe_scan_late(struct sw_pe_scan *scan, size_t i);
/* The wants get the best that was offered, where it is sure to be the best. 0 or -SW_E_NOMEM. */
int sw_pe_scan_settle(const struct sw_pe_scan *scan, enum sw_symbol_source source,
		      struct sw_want *wants, const struct sw_request *request);

#endif
