/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Writes a struct sw_iterate_lock for threads of processes whose memory somebody has locked: for the first thread of each
 * process, and for each one that no signal wakes. No lock is taken for it: the words of the lock are read, and may be old
 * by the time they are written. Linux 6.1 to 6.18, include/linux/rwsem.h.
 */
#include "iterate/bpf/kernel.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

enum {
	TASK_UNINTERRUPTIBLE = 2,  /* include/linux/sched.h; also a bit of TASK_KILLABLE */
	RT_NOT_HELD = 0x80000000U, /* READER_BIAS, include/linux/rwbase_rt.h */
};

/* As a kernel with CONFIG_PREEMPT_RT has it. */
struct rw_semaphore___rt {
	struct {
		struct {
			int counter;
		} readers;
	} rwbase;
} SW_KERNEL;

static __always_inline uint64_t held_word(const struct rw_semaphore *lock)
{
	const struct rw_semaphore___rt *rt = (const struct rw_semaphore___rt *) lock;
	if (bpf_core_field_exists(lock->count))
		return word_at(&lock->count);
	return bpf_core_field_exists(rt->rwbase) ? number_at(&rt->rwbase.readers) ^ RT_NOT_HELD : 0;
}

SEC("iter/task")
int sw_locks(struct bpf_iter__task *ctx)
{
	const struct task_struct *task = ctx->task;
	if (task == NULL) /* behind the last one */
		return 0;
	const struct mm_struct *mm = pointer_at(&task->mm);
	if (mm == NULL) /* the kernel's own, or it has ended */
		return 0;
	const struct rw_semaphore *lock = &mm->mmap_lock;
	if (held_word(lock) == 0)
		return 0;
	const struct task_struct *leader = pointer_at(&task->group_leader);
	bool waits = number_at(&task->__state) & TASK_UNINTERRUPTIBLE;
	/* A first thread that has ended has no memory: the others speak for it. */
	if (task != leader && !waits && pointer_at(&leader->mm) != NULL)
		return 0;
	struct sw_iterate_lock r = {
		.memory = (uint64_t) mm,
		.owner = bpf_core_field_exists(lock->owner) ? word_at(&lock->owner) : 0,
		.n_switches = waits ? word_at(&task->nvcsw) + word_at(&task->nivcsw) : 0,
		.pid = numbers_of(leader).reader,
		.tid = numbers_of(task).reader,
	};
	(void) bpf_probe_read_kernel(r.comm, sizeof(r.comm), leader->comm);
	(void) bpf_seq_write(ctx->meta->seq, &r, sizeof(r));
	return 0;
}
