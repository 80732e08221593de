/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* May run while threads of the target are STOPPED: tests/held.sh looks at what it calls. */
#include "iterate/proof.h"
#include "iterate/thread.h"

#include <string.h>

static bool is_same(const struct sw_iterate_record *a, const struct sw_iterate_record *b)
{
	return a->tid == b->tid && a->start_ns == b->start_ns;
}

bool sw_iterate_is_unchanged(const struct sw_iterate_record *before,
			     const struct sw_iterate_record *after)
{
	return is_same(before, after) && before->exec_id == after->exec_id && before->on_cpu == 0 &&
	       after->on_cpu == 0 && before->n_voluntary == after->n_voluntary &&
	       before->n_involuntary == after->n_involuntary &&
	       before->runtime_ns == after->runtime_ns &&
	       memcmp(before->regs, after->regs, sizeof(before->regs)) == 0;
}

bool sw_iterate_is_quiescent(const struct sw_iterate_record *before, size_t n_before,
			     const struct sw_iterate_record *after, size_t n_after)
{
	if (n_before == 0 || before[n_before - 1].is_last == 0)
		return false;
	/* The kernel lists threads by age, so both passes have them in the same order. */
	size_t j = 0;
	for (size_t i = 0; i < n_before; i++) {
		const struct sw_iterate_record *a = &before[i];
		while (j < n_after && !is_same(a, &after[j]) && sw_iterate_is_worker(&after[j]))
			j++;
		if (j == n_after || !is_same(a, &after[j]) ||
		    !(sw_iterate_is_worker(a) || sw_iterate_is_unchanged(a, &after[j])))
			return false;
		j++;
	}
	while (j < n_after && sw_iterate_is_worker(&after[j]))
		j++;
	return j == n_after;
}
