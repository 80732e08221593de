/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "merge/labels.h"
#include "cleanup.h"
#include "errors.h"
#include "report/frame_kind.h"
#include "utf8.h"

#include <stdio.h>
#include <string.h>

enum { RANGE_MIN = 3, NUMBER_DIGITS_MAX = 18 };

static const char *noun_of(enum sw_merge_label label)
{
	switch (label) {
	case SW_MERGE_BY_HOST: return "host";
	case SW_MERGE_BY_UNIT: return "unit";
	case SW_MERGE_BY_CONTAINER: return "container";
	case SW_MERGE_BY_FILE: return "dump";
	case SW_MERGE_BY_AUTO:
	case SW_MERGE_BY_PID:
	case SW_MERGE_BY_NAME:
	case SW_MERGE_BY_ORDER: break;
	}
	return "process";
}

static bool ends_with(const char *s, size_t size, const char *end)
{
	size_t n = strlen(end);
	return size >= n && memcmp(s + size - n, end, n) == 0;
}

static const char *plural_of(struct sw_arena *arena, const char *noun)
{
	size_t size = strlen(noun);
	bool hisses = ends_with(noun, size, "s") || ends_with(noun, size, "x") ||
		      ends_with(noun, size, "ch") || ends_with(noun, size, "sh");
	return sw_arena_printf(arena, "%s%s", noun, hisses ? "es" : "s");
}

static bool of_one_host(const struct sw_merge *m)
{
	for (size_t i = 1; i < m->n_processes; i++)
		if (strcmp(m->processes[i].host, m->processes[0].host) != 0)
			return false;
	return true;
}

static const char *file_label(struct sw_arena *arena, const char *name)
{
	const char *base = sw_base_name(name);
	size_t size = strlen(base);
	if (ends_with(base, size, ".json") && size > strlen(".json"))
		size -= strlen(".json");
	return sw_arena_strndup(arena, base, size);
}

/* NULL: it has none. */
static const char *label_by_rule(const struct sw_merge *m, const struct sw_merge_process *p,
				 struct sw_arena *arena, bool one_host)
{
	switch (m->options.label) {
	case SW_MERGE_BY_NAME: return p->comm;
	case SW_MERGE_BY_HOST: return p->host;
	case SW_MERGE_BY_UNIT: return p->unit;
	case SW_MERGE_BY_CONTAINER: return p->container;
	case SW_MERGE_BY_FILE: return file_label(arena, p->name);
	case SW_MERGE_BY_ORDER: return sw_arena_printf(arena, "%zu", (size_t) (p - m->processes));
	case SW_MERGE_BY_AUTO:
		if (!one_host)
			return sw_arena_printf(arena, "%s:%d", p->host, (int) p->pid);
		break;
	case SW_MERGE_BY_PID: break;
	}
	return sw_arena_printf(arena, "%d", (int) p->pid);
}

/* "rank-37" of ranks is 37. */
static const char *without_noun(const char *label, const char *noun)
{
	size_t size = strlen(noun);
	if (strncasecmp(label, noun, size) != 0)
		return label;
	const char *rest = label + size;
	rest += *rest == '-' || *rest == '_' || *rest == '.';
	return *rest != '\0' ? rest : label;
}

static int compare_labels(const void *a, const void *b, void *arg)
{
	const struct sw_merge_labels *l = arg;
	uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;
	int r = strverscmp(l->labels[x], l->labels[y]);
	return r != 0 ? r : (x > y) - (x < y);
}

/* Two that are called the same are told apart by their order. */
static bool labels_make_unique(struct sw_merge_labels *l)
{
	const char *last = NULL;
	size_t n = 1;
	for (size_t i = 0; i < l->m->n_processes; i++) {
		const char **label = &l->labels[l->order[i]];
		bool again = last != NULL && strcmp(last, *label) == 0;
		last = again ? last : *label;
		n = again ? n + 1 : 1;
		if (again)
			*label = sw_arena_printf(&l->arena, "%s#%zu", last, n);
		if (*label == NULL)
			return false;
	}
	return true;
}

int sw_merge_labels_init(struct sw_merge_labels *ret, const struct sw_merge *m)
{
	bool one_host = of_one_host(m);
	*ret = (struct sw_merge_labels){.m = m, .n_words = (m->n_processes + 63) / 64};
	ret->noun = m->options.noun != NULL ? m->options.noun : noun_of(m->options.label);
	ret->plural = plural_of(&ret->arena, ret->noun);
	ret->labels = calloc(m->n_processes + 1, sizeof(*ret->labels));
	ret->order = calloc(m->n_processes + 1, sizeof(*ret->order));
	if (ret->plural == NULL || ret->labels == NULL || ret->order == NULL)
		return -SW_E_NOMEM;
	for (size_t i = 0; i < m->n_processes; i++) {
		const struct sw_merge_process *p = &m->processes[i];
		const char *label = label_by_rule(m, p, &ret->arena, one_host);
		if (label == NULL || label[0] == '\0')
			label = sw_arena_printf(&ret->arena, "%d", (int) p->pid);
		if (label == NULL)
			return -SW_E_NOMEM;
		ret->labels[i] = m->options.noun != NULL ? without_noun(label, ret->noun) : label;
		ret->order[i] = (uint32_t) i;
	}
	qsort_r(ret->order, m->n_processes, sizeof(*ret->order), compare_labels, ret);
	return labels_make_unique(ret) ? 0 : -SW_E_NOMEM;
}

void sw_merge_labels_deinit(struct sw_merge_labels *labels)
{
	sw_arena_deinit(&labels->arena);
	free(labels->labels);
	free(labels->order);
	*labels = (struct sw_merge_labels){0};
}

size_t sw_merge_set_count(const uint64_t *set, size_t n_words)
{
	size_t n = 0;
	for (size_t i = 0; i < n_words; i++)
		n += (size_t) __builtin_popcountll(set[i]);
	return n;
}

/* -1: it is no number, or not written as its value. */
static int64_t number_of(const char *label)
{
	size_t size = strlen(label);
	if (size == 0 || size > NUMBER_DIGITS_MAX || label[strspn(label, "0123456789")] != '\0' ||
	    (label[0] == '0' && size > 1))
		return -1;
	return strtoll(label, NULL, 10);
}

static void put_label(struct sw_text *text, const struct sw_merge_labels *l, uint32_t process)
{
	sw_utf8_append_plain(text, l->labels[process], strlen(l->labels[process]));
}

void sw_merge_put_set(struct sw_text *text, const struct sw_merge_labels *labels,
		      const uint64_t *set, size_t most)
{
	size_t n = sw_merge_set_count(set, labels->n_words), shown = 0, parts = 0;
	sw_utf8_append_plain(text, n == 1 ? labels->noun : labels->plural,
			     strlen(n == 1 ? labels->noun : labels->plural));
	for (size_t i = 0; i < labels->m->n_processes && parts < most; i++) {
		uint32_t first = labels->order[i], last = first;
		size_t run = 1;
		if (!sw_merge_set_has(set, first))
			continue;
		int64_t number = number_of(labels->labels[first]);
		while (number >= 0 && i + run < labels->m->n_processes) {
			uint32_t next = labels->order[i + run];
			if (!sw_merge_set_has(set, next) ||
			    number_of(labels->labels[next]) != number + (int64_t) run)
				break;
			last = next;
			run++;
		}
		run = run < RANGE_MIN ? 1 : run;
		sw_text_append(text, " ", 1);
		put_label(text, labels, first);
		if (run > 1) {
			sw_text_append(text, "-", 1);
			put_label(text, labels, last);
		}
		shown += run;
		i += run - 1;
		parts++;
	}
	if (shown < n)
		sw_text_printf(text, " and %zu more", n - shown);
}
