/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Writes a struct sw_iterate_returns for each thread: where functions return to whose return address the kernel
 * has replaced, since their returns are probed (uretprobes). Linux 6.1 to 6.18, include/linux/uprobes.h and
 * prepare_uretprobe() in kernel/events/uprobes.c.
 */
#include "iterate/kernel.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct return_instance {
	unsigned long stack; /* where the address stood */
	unsigned long orig_ret_vaddr;
	struct return_instance *next;
} SW_KERNEL;

struct uprobe_task {
	struct return_instance *return_instances; /* the last call first */
} SW_KERNEL;

struct task_struct___uprobes {
	struct uprobe_task *utask;
} SW_KERNEL;

SEC("iter/task")
int sw_returns(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	if (task == NULL)
		return 0;
	struct sw_iterate_returns r;
	__builtin_memset(&r, 0, sizeof(r));
	r.start_ns = task->start_boottime;
	r.tid = numbers_of(task).reader;
	const struct task_struct___uprobes *probed = (const void *) task;
	if (bpf_core_field_exists(probed->utask)) {
		const struct uprobe_task *utask = pointer_at(&probed->utask);
		const struct return_instance *at =
			utask != NULL ? pointer_at(&utask->return_instances) : NULL;
		for (int i = 0; i < SW_ITERATE_RETURNS_MAX && at != NULL; i++) {
			r.returns[i].slot_avma = (uint64_t) pointer_at(&at->stack);
			r.returns[i].return_avma = (uint64_t) pointer_at(&at->orig_ret_vaddr);
			r.n = (uint32_t) i + 1;
			at = pointer_at(&at->next);
		}
	}
	(void) bpf_seq_write(ctx->meta->seq, &r, sizeof(r));
	return 0;
}
