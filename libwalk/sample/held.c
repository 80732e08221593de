/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs while threads of the target are STOPPED, in the helper, on its small stack, and may be killed
 * between any two instructions. tests/held.sh looks at what it calls.
 */
#include "sample/held.h"
#include "capture/reader.h"

void sw_sample_held_fill(void *arg, struct sw_stop *stop)
{
	const struct sw_sample_held *held = arg;
	for (size_t i = 0; i < stop->n; i++) {
		const struct sw_tracee *t = &stop->tracees[i];
		held->chosen[i] = t->phase == SW_TRACEE_STOPPED && t->has_regs;
		if (held->chosen[i])
			held->space->carrier = t->tid;
	}
	sw_capture_reader_fill(held->space, stop);
}
