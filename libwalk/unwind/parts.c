/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/parts.h"
#include "cleanup.h"

#include <stdlib.h>

/* Calls each for those that are not done. Returns false if they have missed nothing. */
static bool round_do(struct sw_memory m, size_t n, bool *done, void (*each)(void *arg, size_t i),
		     void *arg)
{
	size_t last = n;
	for (size_t i = 0; i <= n; i++) {
		if (i < n && done[i])
			continue;
		bool whole = m.ops->part(m.arg); /* the part before, if there was one */
		if (last < n)
			done[last] = whole;
		if (i < n)
			each(arg, i);
		last = i;
	}
	return m.ops->fetch(m.arg);
}

void sw_parts_do(struct sw_memory memory, size_t n, void (*each)(void *arg, size_t i), void *arg)
{
	sw_cleanup(sw_free_p) bool *done =
		memory.ops->part != NULL && n > 0 ? calloc(n, sizeof(*done)) : NULL;
	bool missed = true;
	for (size_t i = 0; i < SW_PARTS_ROUNDS_MAX && done != NULL && missed; i++)
		missed = round_do(memory, n, done, each, arg);
	for (size_t i = 0; i < n && missed; i++)
		if (done == NULL || !done[i])
			each(arg, i);
}
