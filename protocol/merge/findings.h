/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_MERGE_FINDINGS_H
#define SW_MERGE_FINDINGS_H

#include "merge/labels.h"

/* Findings, which a result says first: who differs from whom. */

enum sw_merge_finding_kind {
	SW_MERGE_ELSEWHERE, /* most are in a call that some are not in */
	SW_MERGE_NO_THREAD, /* some have no thread of a role that most have */
	SW_MERGE_ALL,       /* nobody differs */
	SW_MERGE_SPREAD,    /* no place has half of them */
};

enum { SW_MERGE_ODD_MAX = 4 /* places of those who differ that are told apart */ };

/* Processes that differ in the same way. */
struct sw_merge_odd {
	uint32_t place; /* SW_MERGE_NONE: more than SW_MERGE_ODD_MAX places, or without a thread */
	uint64_t *set;  /* the findings' */
	size_t n;       /* in it */
	int64_t least_ms, most_ms; /* off the CPU; -1: unknown */
};

struct sw_merge_finding {
	enum sw_merge_finding_kind kind;
	uint32_t role;
	uint32_t place;                                /* where most are */
	size_t n_there, n_all;                         /* processes */
	size_t n_places;                               /* of SW_MERGE_SPREAD */
	struct sw_merge_odd odd[SW_MERGE_ODD_MAX + 1]; /* most processes first */
	size_t n_odd;
	size_t n_differ; /* processes in odd[] */
};

struct sw_merge_findings {
	struct sw_arena arena;        /* owned; of the sets */
	struct sw_merge_finding *all; /* owned; the fewest processes that differ first */
	size_t n, capacity;
};

/* 0; -SW_E_NOMEM. Deinit in both cases. */
int sw_merge_findings_make(struct sw_merge_findings *ret, const struct sw_merge_labels *labels);
void sw_merge_findings_deinit(struct sw_merge_findings *findings);

/* Whether a finding is of the threads that programs begin with. */
bool sw_merge_finding_is_main(const struct sw_merge *m, const struct sw_merge_finding *finding);

/* "all_reduce (dist.py:120)". A place of a role itself has no name. Plain. */
void sw_merge_put_place(struct sw_text *text, const struct sw_merge *m, uint32_t place);

/* The sentence, without a newline. Plain. */
void sw_merge_put_finding(struct sw_text *text, const struct sw_merge_labels *labels,
			  const struct sw_merge_finding *finding);

/* The child with most processes, then most threads; SW_MERGE_NONE: it has none. */
uint32_t sw_merge_best_child(const struct sw_merge *m, uint32_t place);

/* Adds the processes that have a thread at a place or below to a set. */
void sw_merge_set_of(const struct sw_merge *m, uint32_t place, uint64_t *set);

/* The place behind one, in the order of a tree: its first child, else the next one that is not below it, within the
 * tree of root; SW_MERGE_NONE: that was the last one. */
uint32_t sw_merge_next(const struct sw_merge *m, uint32_t root, uint32_t place);

#endif
