/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PROBES_MATCHING_H
#define SW_PROBES_MATCHING_H

#include <snapwalk/symbolize.h>

/*
 * Functions whose name is the one that somebody wrote: as the linker has it, or as people write it, with its parameters or
 * without, from its first namespace on or from a later one.
 */

enum { SW_MATCHES_MAX = 64, SW_MATCH_NEAR_MAX = 3 };

/* The better the higher. */
enum sw_match_rank { SW_MATCH_NONE, SW_MATCH_END, SW_MATCH_PLAIN, SW_MATCH_WHOLE };

struct sw_match {
	uint64_t svma, size;
	bool is_indirect;
	char *raw;   /* owned, as the following */
	char *shown; /* demangled where it is mangled */
};

struct sw_matching {
	const char *wanted; /* borrowed */
	uint64_t svma;      /* with at_svma: "NAME@0xADDRESS" */
	bool at_svma;
	char *plain; /* owned: wanted without its parameters */
	char *word;  /* owned: the last word of it; "": none */
	enum sw_match_rank rank;
	struct sw_match all[SW_MATCHES_MAX];
	size_t n, n_more;
	char *near[SW_MATCH_NEAR_MAX]; /* owned: names that are nearly the wanted one */
	size_t n_near;
	bool no_memory;
};

/* 0; -SW_E_NOMEM. */
int sw_matching_init(struct sw_matching *ret, const char *wanted);
void sw_matching_deinit(struct sw_matching *matching);
/* For sw_symbolizer_functions(); arg is the matching. */
void sw_matching_add(void *arg, const struct sw_function_symbol *symbol);
/* Whether the matches are one function: of one name, or variants of it that a compiler has made. */
bool sw_matching_is_one(const struct sw_matching *matching);

#endif
