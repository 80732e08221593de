/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "series/tally.h"
#include "cleanup.h"
#include "errors.h"
#include "text.h"

#include <string.h>

void sw_tally_deinit(struct sw_tally *tally)
{
	sw_arena_deinit(&tally->arena);
	sw_map64_deinit(&tally->index);
	free(tally->entries);
	*tally = (struct sw_tally){0};
}

static uint64_t hash_of(const char *name, size_t length)
{
	uint64_t h = length;
	for (size_t i = 0; i < length; i++)
		h = sw_mix64(h ^ (unsigned char) name[i]);
	return h;
}

static int append(struct sw_tally *t, uint64_t key, const char *name, size_t length)
{
	struct sw_tally_entry *grown =
		sw_grow(t->entries, t->n_entries, &t->capacity, 64, sizeof(*grown));
	if (grown == NULL)
		return -SW_E_NOMEM;
	t->entries = grown;
	const char *kept = sw_arena_strndup(&t->arena, name, length);
	if (kept == NULL || sw_map64_put(&t->index, key, t->n_entries) < 0)
		return -SW_E_NOMEM;
	t->entries[t->n_entries++] = (struct sw_tally_entry){.name = kept};
	return 0;
}

/* Finds or makes the entry of a name. 1 with *ret; 0 when there is no space; -SW_E_NOMEM. */
static int find(struct sw_tally *t, const char *name, size_t length, struct sw_tally_entry **ret)
{
	uint64_t key = hash_of(name, length), i;
	/* Two names of one hash: the next key. Keys taken by others end this after a few. */
	for (; sw_map64_get(&t->index, key, &i); key++) {
		*ret = &t->entries[i];
		if (strncmp((*ret)->name, name, length) == 0 && (*ret)->name[length] == '\0')
			return 1;
	}
	if (t->n_entries == SW_TALLY_MAX)
		return 0;
	int r = append(t, key, name, length);
	if (r < 0)
		return r;
	*ret = &t->entries[t->n_entries - 1];
	return 1;
}

int sw_tally_row(struct sw_tally *tally, const char *name, size_t length, uint32_t *ret_row)
{
	struct sw_tally_entry *entry = NULL;
	int r = find(tally, name, length, &entry);
	*ret_row = r > 0 ? (uint32_t) (entry - tally->entries) : UINT32_MAX;
	return r < 0 ? r : 0;
}

static int compare(const void *a, const void *b)
{
	const struct sw_tally_entry *x = a, *y = b;
	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return strcmp(x->name, y->name);
}

/* The index holds positions and is of no use any more afterwards. */
void sw_tally_sort(struct sw_tally *tally)
{
	sw_map64_deinit(&tally->index);
	if (tally->n_entries > 0)
		qsort(tally->entries, tally->n_entries, sizeof(*tally->entries), compare);
}

/* Folds a thread of a report as if there were no others. */
static int fold_one(const struct sw_report *report, size_t i, char **ret, size_t *ret_size,
		    struct sw_error *err)
{
	struct sw_report one = *report;
	struct sw_report_thread thread = report->threads[i];
	struct sw_report_stack stack = report->stacks[thread.stack];
	__typeof__(*stack.threads) first = 0;
	stack.threads = &first;
	stack.n_threads = 1;
	thread.stack = 0;
	one.threads = &thread;
	one.stacks = &stack;
	one.n_threads = one.n_stacks = 1;
	return sw_report_folded(&one, ret, ret_size, err);
}

int sw_tally_rows(struct sw_tally *tally, const struct sw_report *report, const bool *wanted,
		  uint32_t *ret_rows, struct sw_error *err)
{
	for (size_t i = 0; i < report->n_threads; i++) {
		sw_cleanup(sw_free_p) char *text = NULL;
		size_t size = 0;
		ret_rows[i] = SW_TALLY_NO_ROW;
		if (!wanted[i] || report->threads[i].stack < 0)
			continue;
		int r = fold_one(report, i, &text, &size, err);
		if (r < 0)
			return r;
		const char *space = memrchr(text, ' ', size);
		if (space == NULL)
			continue;
		r = sw_tally_row(tally, text, (size_t) (space - text), &ret_rows[i]);
		if (r < 0)
			return sw_fail_nomem(err);
	}
	return 0;
}

void sw_tally_again(struct sw_tally *tally, uint32_t row, uint64_t count)
{
	if (row == SW_TALLY_NO_ROW)
		tally->n_lost += count;
	else
		tally->entries[row].count += count;
}

/* ---- names with numbers ---------------------------------------------------------------------- */

static size_t stem_of(const char *name, size_t length)
{
	while (length > 0 && name[length - 1] >= '0' && name[length - 1] <= '9')
		length--;
	return length;
}

/* How many names there are of each stem: at most 2 are counted. key: the stem's hash; value: the number
 * before it, and a mark of more than one. */
static int stems_count(const struct sw_tally *tally, struct sw_map64 *stems)
{
	for (size_t i = 0; i < tally->n_entries; i++) {
		const char *name = tally->entries[i].name;
		size_t length = strcspn(name, ";"), stem = stem_of(name, length);
		if (stem == 0 || stem == length)
			continue;
		uint64_t key = hash_of(name, stem), whole = hash_of(name, length) >> 1, seen;
		bool more = sw_map64_get(stems, key, &seen) && seen != whole;
		if (sw_map64_put(stems, key, more ? UINT64_MAX : whole) < 0)
			return -SW_E_NOMEM;
	}
	return 0;
}

int sw_tally_merge_numbered(struct sw_tally *tally)
{
	struct sw_map64 stems = {0};
	struct sw_tally merged = {.n_lost = tally->n_lost};
	int r = stems_count(tally, &stems);
	for (size_t i = 0; r >= 0 && i < tally->n_entries; i++) {
		const char *name = tally->entries[i].name;
		size_t length = strcspn(name, ";"), stem = stem_of(name, length);
		uint64_t seen = 0;
		bool numbered = stem > 0 && stem < length &&
				sw_map64_get(&stems, hash_of(name, stem), &seen) &&
				seen == UINT64_MAX;
		struct sw_text line = {0};
		uint32_t row = SW_TALLY_NO_ROW;
		sw_text_append(&line, name, numbered ? stem : length);
		sw_text_append(&line, "*", numbered);
		sw_text_append(&line, name + length, strlen(name + length));
		r = line.failed ? -SW_E_NOMEM : sw_tally_row(&merged, line.data, line.size, &row);
		if (r >= 0)
			sw_tally_again(&merged, row, tally->entries[i].count);
		sw_text_deinit(&line);
	}
	sw_map64_deinit(&stems);
	if (r < 0) {
		sw_tally_deinit(&merged);
		return r;
	}
	sw_tally_deinit(tally);
	*tally = merged;
	return 0;
}
