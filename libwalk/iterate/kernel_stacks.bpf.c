/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Writes a struct sw_iterate_kernel_stack for each thread. A program of its own: the records without
 * it are smaller, quicker to make and wanted more often.
 */
#include "iterate/kernel.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("iter/task")
int sw_kernel_stacks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	if (task == NULL)
		return 0;
	struct sw_iterate_kernel_stack r;
	__builtin_memset(&r, 0, sizeof(r));
	r.on_cpu = task_on_cpu(task);
	in_order();
	r.n_voluntary = task->nvcsw;
	r.n_involuntary = task->nivcsw;
	in_order();
	r.start_ns = task->start_boottime;
	r.tid = numbers_of(task).reader;
	r.bytes = bpf_get_task_stack(task, r.frames, sizeof(r.frames), 0);
	(void) bpf_seq_write(ctx->meta->seq, &r, sizeof(r));
	return 0;
}
