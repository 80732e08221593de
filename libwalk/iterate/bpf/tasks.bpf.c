/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Writes a struct sw_iterate_record for each thread. Runs in the kernel, once per thread, under
 * rcu_read_lock(); what is loaded through a bad pointer is 0. The helpers are for GPL-compatible
 * programs only.
 */
#include "iterate/bpf/threads.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("iter/task")
int sw_tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	if (task == NULL) /* behind the last one */
		return 0;
	struct sw_iterate_record r;
	struct seq_file *seq = ctx->meta->seq; /* once: see pointer_at() */
	record_fill(seq, task, &r);
	/* Where it does not fit, the kernel shows this thread again on the next read. */
	(void) bpf_seq_write(seq, &r, sizeof(r));
	return 0;
}
