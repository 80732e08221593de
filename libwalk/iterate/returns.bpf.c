/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Writes a struct sw_iterate_return for each function that returns to where the kernel has replaced the
 * address, since its return is probed (uretprobes), and for each instruction that is executed elsewhere,
 * since it is probed itself. Threads without probes write nothing. Linux 6.1 to 6.18,
 * include/linux/uprobes.h and prepare_uretprobe() in kernel/events/uprobes.c.
 */
#include "iterate/kernel.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct return_instance {
	unsigned long stack; /* where the address stood */
	unsigned long orig_ret_vaddr;
	struct return_instance *next;
} SW_KERNEL;

enum uprobe_task_state {
	RUNS = 0, /* UTASK_RUNNING; else vaddr and xol_vaddr are those of an instruction on its way */
};

struct uprobe_task {
	enum uprobe_task_state state;
	struct return_instance *return_instances; /* the last call first */
	unsigned long vaddr, xol_vaddr;
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
	const struct task_struct___uprobes *probed = (const void *) task;
	if (!bpf_core_field_exists(probed->utask))
		return 0;
	const struct uprobe_task *utask = pointer_at(&probed->utask);
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
