/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Copies the thread that is interrupted by an event of perf_event_open(2). */
#include "iterate/bpf/copying.bpf.h"
#include "iterate/bpf/interrupted.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("perf_event")
int sw_sample(const uint64_t *interrupted)
{
	struct taking t;
	if (!taking_begin(&t, false))
		return 0;
	sample_make(t.s, t.task, t.setup, t.recipe, is_in_kernel(interrupted));
	(void) taking_end(&t); /* what was lost is counted */
	return 0;              /* the event itself writes nothing */
}
