/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Copies the thread at one of so many page faults in user mode, before the kernel handles it: the registers are those of the
 * instruction that faults. Linux 6.1 to 6.18, arch/x86/mm/fault.c handle_page_fault(); the trace point is x86's.
 */
#include "iterate/bpf/called.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

static const uint64_t IN_NO_CALL = UINT64_MAX;

SEC("raw_tp/page_fault_user")
int sw_fault(const uint64_t *ctx)
{
	uint32_t zero = 0;
	const struct task_struct *task = bpf_get_current_task_btf();
	struct sw_called_setup *called = bpf_map_lookup_elem(&sw_called, &zero);
	struct taking t;
	if (called == NULL || !is_process(called, task))
		return 0;
	uint64_t seen = __sync_fetch_and_add(&called->n_seen, 1), every = called->number;
	if (every > 1 && seen % every != 0)
		return 0;
	struct sw_called_event event = {.number = __sync_fetch_and_add(&called->n_events, 1),
					.what = SW_CALLED_FAULTS,
					.value = {ctx[0], access_of(ctx[2])}};
	if (!taking_known(&t, called))
		return 0;
	event_put(t.s, &event);
	sample_make(t.s, t.task, t.setup, t.recipe, false);
	/* The kernel keeps the cause of the fault where calls have their number. */
	((struct sw_sampled_head *) t.s->out)->regs[REGS_CALL] = IN_NO_CALL;
	(void) taking_end(&t); /* what was lost is counted */
	return 0;
}
