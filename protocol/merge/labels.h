/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_MERGE_LABELS_H
#define SW_MERGE_LABELS_H

#include "merge/tables.h"
#include "text.h"

/* Labels of processes in a result, and of sets of them. */
struct sw_merge_labels {
	const struct sw_merge *m;  /* borrowed */
	struct sw_arena arena;     /* owned; of the labels */
	const char **labels;       /* owned; one for each process */
	uint32_t *order;           /* owned; processes by label, numbers by their value */
	const char *noun, *plural; /* "rank", "ranks" */
	size_t n_words;            /* of a set */
};

/* 0; -SW_E_NOMEM. Deinit in both cases. */
int sw_merge_labels_init(struct sw_merge_labels *ret, const struct sw_merge *m);
void sw_merge_labels_deinit(struct sw_merge_labels *labels);

/* "rank 37", "ranks 0-36 38"; more than most of them as "and 12 more". Names are plain. */
void sw_merge_put_set(struct sw_text *text, const struct sw_merge_labels *labels,
		      const uint64_t *set, size_t most);

/* A set is n_words words, a bit for each process. */
static inline bool sw_merge_set_has(const uint64_t *set, size_t process)
{
	return set[process / 64] >> (process % 64) & 1;
}

static inline void sw_merge_set_add(uint64_t *set, size_t process)
{
	set[process / 64] |= UINT64_C(1) << (process % 64);
}

size_t sw_merge_set_count(const uint64_t *set, size_t n_words);

#endif
