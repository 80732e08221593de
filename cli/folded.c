/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Adding up folded stacks over many samples. */
#include "folded.h"
#include "cleanup.h"
#include "arena.h"

#include <snapwalk/error.h>
#include <inttypes.h>
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

int sw_tally_add_folded(struct sw_tally *tally, const char *text)
{
	for (const char *line = text; *line != '\0';) {
		size_t length = strcspn(line, "\n");
		const char *space = memrchr(line, ' ', length);
		if (space != NULL) {
			uint64_t count = strtoull(space + 1, NULL, 10);
			struct sw_tally_entry *entry;
			int r = find(tally, line, (size_t) (space - line), &entry);
			if (r < 0)
				return r;
			if (r > 0)
				entry->count += count;
			else
				tally->n_lost += count;
		}
		line += length + (line[length] == '\n');
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct sw_tally_entry *x = a, *y = b;
	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return strcmp(x->name, y->name);
}

/* The index holds positions and is of no use any more afterwards. */
void sw_tally_sort(struct sw_tally *tally)
{
	sw_map64_deinit(&tally->index);
	if (tally->n_entries > 0)
		qsort(tally->entries, tally->n_entries, sizeof(*tally->entries), compare);
}

void sw_tally_print_folded(const struct sw_tally *tally, struct sw_text *text)
{
	for (size_t i = 0; i < tally->n_entries; i++)
		sw_text_printf(text, "%s %" PRIu64 "\n", tally->entries[i].name,
			       tally->entries[i].count);
}

/* Counts the functions of one stack: each once, however deep the recursion is. */
static int count_functions(struct sw_tally *functions, const struct sw_tally_entry *stack,
			   size_t number)
{
	const char *name = strchr(stack->name, ';'); /* the first word is the thread's name */
	while (name != NULL) {
		const char *begin = name + 1;
		size_t length = strcspn(begin, ";");
		bool innermost = begin[length] == '\0';
		struct sw_tally_entry *entry;
		int r = find(functions, begin, length, &entry);
		if (r < 0)
			return r;
		if (r > 0 && entry->seen_in != number + 1) {
			entry->seen_in = number + 1;
			entry->total += stack->count;
		}
		if (r > 0 && innermost)
			entry->count += stack->count;
		name = innermost ? NULL : begin + length;
	}
	return 0;
}

int sw_tally_print_top(const struct sw_tally *stacks, size_t max, struct sw_text *text)
{
	struct sw_tally functions = {0};
	uint64_t all = 0;
	int r = 0;
	for (size_t i = 0; i < stacks->n_entries && r == 0; i++) {
		all += stacks->entries[i].count;
		r = count_functions(&functions, &stacks->entries[i], i);
	}
	sw_tally_sort(&functions);
	sw_text_printf(text, "%7s %7s  function\n", "self", "total");
	for (size_t i = 0; i < functions.n_entries && i < max; i++) {
		const struct sw_tally_entry *f = &functions.entries[i];
		sw_text_printf(text, "%6.1f%% %6.1f%%  %s\n",
			       100.0 * (double) f->count / (double) all,
			       100.0 * (double) f->total / (double) all, f->name);
	}
	if (functions.n_entries > max)
		sw_text_printf(text, "and %zu more functions\n", functions.n_entries - max);
	sw_tally_deinit(&functions);
	return r;
}
