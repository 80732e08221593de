/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Copies the thread that makes another thread, or a process. Linux 6.1 to 6.18, kernel/fork.c kernel_clone(). */
#include "iterate/bpf/called.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* In the one who makes; the new one has its numbers and does not run yet. */
SEC("raw_tp/sched_process_fork")
int sw_made(const uint64_t *ctx)
{
	uint32_t zero = 0;
	const struct task_struct *task = bpf_get_current_task_btf();
	const struct task_struct *made = (const struct task_struct *) ctx[1];
	struct sw_called_setup *called = bpf_map_lookup_elem(&sw_called, &zero);
	struct taking t;
	if (called == NULL || !is_process(called, task))
		return 0;
	bool is_thread = number_at(&made->tgid) == (uint32_t) task->tgid;
	if (is_thread != (called->number == SW_CALLED_THREADS))
		return 0;
	struct sw_called_event event = {.number = __sync_fetch_and_add(&called->n_events, 1),
					.what = SW_CALLED_MAKES};
	if (!taking_known(&t, called))
		return 0;
	event.value[0] = number_in(made, t.setup->pid_namespace);
	event_take(&t, &event);
	return 0;
}
