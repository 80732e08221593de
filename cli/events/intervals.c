/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/intervals.h"
#include "arena.h"
#include "errors.h"

#include <stdlib.h>
#include <string.h>

void sw_intervals_deinit(struct sw_intervals *v)
{
	free(v->all);
	*v = (struct sw_intervals){0};
}

size_t sw_intervals_find(const struct sw_intervals *v, uint64_t address)
{
	size_t low = 0, high = v->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (v->all[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int insert(struct sw_intervals *v, size_t at, struct sw_interval interval)
{
	struct sw_interval *grown = sw_grow(v->all, v->n, &v->capacity, 8, sizeof(*grown));
	if (grown == NULL)
		return -SW_E_NOMEM;
	v->all = grown;
	memmove(&grown[at + 1], &grown[at], (v->n - at) * sizeof(*grown));
	grown[at] = interval;
	v->n++;
	return 0;
}

int sw_intervals_put(struct sw_intervals *v, uint64_t begin, uint64_t end, uint32_t owner)
{
	if (begin >= end)
		return 0;
	return insert(v, sw_intervals_find(v, begin),
		      (struct sw_interval){.begin = begin, .end = end, .owner = owner});
}

/* An interval that has the address inside becomes two. */
static int split(struct sw_intervals *v, uint64_t address)
{
	size_t at = sw_intervals_find(v, address);
	if (at == v->n || v->all[at].begin >= address)
		return 0;
	struct sw_interval behind = v->all[at];
	behind.begin = address;
	int r = insert(v, at + 1, behind);
	if (r == 0)
		v->all[at].end = address;
	return r;
}

int sw_intervals_cut(struct sw_intervals *v, uint64_t begin, uint64_t end, struct sw_intervals *ret)
{
	if (begin >= end)
		return 0;
	int r = split(v, begin);
	if (r == 0)
		r = split(v, end);
	if (r < 0)
		return r;
	size_t first = sw_intervals_find(v, begin), last = first;
	while (last < v->n && v->all[last].begin < end)
		last++;
	for (size_t i = first; r == 0 && ret != NULL && i < last; i++)
		r = insert(ret, ret->n, v->all[i]);
	if (r < 0 || last == first)
		return r;
	memmove(&v->all[first], &v->all[last], (v->n - last) * sizeof(*v->all));
	v->n -= last - first;
	return 0;
}

int sw_intervals_without(const struct sw_intervals *a, const struct sw_intervals *b,
			 struct sw_intervals *ret)
{
	int r = 0;
	size_t from = 0;
	for (size_t i = 0; r == 0 && i < a->n; i++) {
		struct sw_interval rest = a->all[i];
		while (from < b->n && b->all[from].end <= rest.begin)
			from++;
		/* The last one of b that was looked at may reach into the next one of a. */
		for (size_t k = from; r == 0 && k < b->n && b->all[k].begin < rest.end; k++) {
			struct sw_interval before = rest;
			before.end = b->all[k].begin;
			if (before.begin < before.end)
				r = insert(ret, ret->n, before);
			rest.begin = b->all[k].end < rest.end ? b->all[k].end : rest.end;
			from = k;
		}
		if (r == 0 && rest.begin < rest.end)
			r = insert(ret, ret->n, rest);
	}
	return r;
}
