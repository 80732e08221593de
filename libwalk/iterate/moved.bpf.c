/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Writes a struct sw_iterate_record for each thread that may have run, or whose state is another one, since the
 * last pass of this program; and behind them one that tells how many threads there are (tid 0,
 * n_threads). What was seen is kept by the thread's number in the pass: threads are listed by age, so
 * that a number changes only when an older thread ends. Who is behind that one is then written again.
 */
#include "iterate/threads.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

enum {
	BPF_MAP_TYPE_ARRAY = 2, /* include/uapi/linux/bpf.h */
	WANT_ALL = 02000,       /* O_APPEND, asm-generic/fcntl.h: means nothing to an iterator */
};

/* By what it is known that a thread is the same and did not run: see iterate/proof.h. */
struct seen {
	uint64_t start_ns, n_switches, exec_id;
	uint32_t state, tid;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4096); /* another number is set before it is loaded: iterate/programs.c */
	__type(key, uint32_t);
	__type(value, struct seen);
} sw_seen SEC(".maps");

static __always_inline bool all_are_wanted(struct seq_file *seq)
{
	const struct file *file = pointer_at(&seq->file);
	return number_at(&file->f_flags) & WANT_ALL;
}

/* Read in the order of the proof: on_cpu, then the counters. */
static __always_inline bool is_unchanged(const struct task_struct *task, const struct seen *seen)
{
	if (task_on_cpu(task) != 0)
		return false;
	in_order();
	return seen->n_switches == task->nvcsw + task->nivcsw && seen->state == task->__state &&
	       seen->start_ns == task->start_boottime && seen->tid == (uint32_t) task->pid &&
	       seen->exec_id == task->self_exec_id && task->exit_state == 0;
}

SEC("iter/task")
int sw_moved(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	uint32_t number = (uint32_t) ctx->meta->seq_num;
	struct sw_iterate_record r;
	if (task == NULL) { /* behind the last one */
		__builtin_memset(&r, 0, sizeof(r));
		r.n_threads = number + 1; /* it is that of the last one */
		(void) bpf_seq_write(ctx->meta->seq, &r, sizeof(r));
		return 0;
	}
	struct seen *seen = bpf_map_lookup_elem(&sw_seen, &number);
	if (seen != NULL && is_unchanged(task, seen) && !all_are_wanted(ctx->meta->seq))
		return 0;
	record_fill(ctx->meta, task, &r);
	/* Where it does not fit, the kernel shows this thread again on the next read. */
	if (bpf_seq_write(ctx->meta->seq, &r, sizeof(r)) != 0 || seen == NULL)
		return 0;
	seen->n_switches = r.on_cpu == 0 ? r.n_voluntary + r.n_involuntary : ~UINT64_C(0);
	seen->state = r.state;
	seen->start_ns = r.start_ns;
	seen->tid = (uint32_t) task->pid;
	seen->exec_id = r.exec_id;
	return 0;
}
