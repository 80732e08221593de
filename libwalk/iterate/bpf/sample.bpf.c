/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Copies the thread that is interrupted by an event of perf_event_open(2). */
#include "iterate/bpf/copying.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

enum {
	WORD_CS = 17,  /* of struct pt_regs */
	USER_MODE = 3, /* the lower bits of cs */
};

SEC("perf_event")
int sw_sample(const uint64_t *interrupted)
{
	struct taking t;
	if (!taking_begin(&t, false))
		return 0;
	sample_make(t.s, t.task, t.setup, t.recipe, (interrupted[WORD_CS] & USER_MODE) == 0);
	(void) taking_end(&t); /* what was lost is counted */
	return 0;              /* the event itself writes nothing */
}
