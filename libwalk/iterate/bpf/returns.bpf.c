/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Writes a struct sw_iterate_return for each function that returns to where the kernel has replaced the
 * address, since its return is probed (uretprobes), and for each instruction that is executed elsewhere,
 * since it is probed itself. Threads without probes write nothing. Linux 6.1 to 6.18,
 * include/linux/uprobes.h and prepare_uretprobe() in kernel/events/uprobes.c.
 */
#include "iterate/bpf/uprobes.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("iter/task")
int sw_returns(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	if (task == NULL)
		return 0;
	const struct uprobe_task *utask = probed_task(task);
	if (utask == NULL)
		return 0;
	struct sw_iterate_return r = {.tid = numbers_of(task).reader, .what = SW_ITERATE_STEP};
	if (number_at(&utask->state) != RUNS) {
		r.at_avma = word_at(&utask->xol_vaddr);
		r.is_avma = word_at(&utask->vaddr);
		(void) bpf_seq_write(ctx->meta->seq, &r, sizeof(r));
	}
	r.what = SW_ITERATE_RETURN;
	const struct return_instance *at = pointer_at(&utask->return_instances);
	for (int i = 0; i < SW_ITERATE_RETURNS_MAX && at != NULL; i++) {
		r.at_avma = word_at(&at->stack);
		r.is_avma = word_at(&at->orig_ret_vaddr);
		(void) bpf_seq_write(ctx->meta->seq, &r, sizeof(r));
		at = pointer_at(&at->next);
	}
	return 0;
}
