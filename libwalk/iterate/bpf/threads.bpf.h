/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef SW_ITERATE_THREADS_BPF_H
#define SW_ITERATE_THREADS_BPF_H

/* A thread as a struct sw_iterate_record: for the programs that write such. */
#include "iterate/bpf/kernel.bpf.h"

enum {
	MAX_RT_PRIO = 100,      /* include/linux/sched/prio.h: fair scheduling is above */
	WANT_WAIT_KEYS = 04000, /* O_NONBLOCK, asm-generic/fcntl.h: means nothing to an iterator */
	WAIT_FRAMES = 6,        /* the scheduler has two to four of them */
};

/* The order of the reads is what the proof in iterate/proof.h stands on. */
static __always_inline void proof_read(const struct task_struct *task, struct sw_iterate_record *r)
{
	r->on_cpu = task_on_cpu(task);
	in_order();
	r->n_voluntary = task->nvcsw;
	r->n_involuntary = task->nivcsw;
	r->runtime_ns = task->se.sum_exec_runtime;
	in_order();
	/* Only its address is the helper's; a stack that is freed already reads as 0. */
	const struct pt_regs *user = (const struct pt_regs *) bpf_task_pt_regs((void *) task);
	registers_read(user, &task->thread, r->regs);
}

/* CPU time since it got the CPU: set_next_entity(), kernel/sched/fair.c, keeps what it had then. */
static __always_inline uint64_t stint(const struct task_struct *task)
{
	return task->prio < MAX_RT_PRIO
		       ? 0
		       : task->se.sum_exec_runtime - task->se.prev_sum_exec_runtime;
}

/* Without CONFIG_SCHED_INFO there are none: 0. */
static __always_inline void times_read(const struct task_struct *task, struct sw_iterate_record *r)
{
	r->start_ns = task->start_boottime;
	r->clock_ns = r->arrived_ns = r->queued_ns = r->run_delay_ns = r->stint_ns = 0;
	if (!bpf_core_field_exists(task->sched_info.last_arrival))
		return;
	/* No helper of 6.1 tells the scheduler's clock. When we got the CPU and how long we had it
	 * at the last tick comes near. */
	const struct task_struct *reader = bpf_get_current_task_btf();
	r->clock_ns = reader->sched_info.last_arrival + stint(reader);
	r->arrived_ns = task->sched_info.last_arrival;
	r->queued_ns = task->sched_info.last_queued;
	r->run_delay_ns = task->sched_info.run_delay;
	r->stint_ns = stint(task);
}

/* A kernel that does not keep it: every thread in such a call. */
static __always_inline uint32_t is_in_exec(const struct task_struct *task,
					   const struct sw_iterate_record *r)
{
	return bpf_core_field_exists(struct task_struct, in_execve)
		       ? BPF_CORE_READ_BITFIELD(task, in_execve)
		       : call_is_exec(r->regs);
}

static __always_inline bool wait_keys_are_wanted(struct seq_file *seq)
{
	const struct file *file = pointer_at(&seq->file);
	return number_at(&file->f_flags) & WANT_WAIT_KEYS;
}

/* By the return addresses on its kernel stack: FNV-1a, 64 bits, by words. buffer has WAIT_FRAMES. */
static __always_inline uint64_t wait_key(struct task_struct *task, uint64_t *buffer)
{
	uint64_t key = 0xcbf29ce484222325;
	if (task_on_cpu(task) != 0 || task->__state == 0)
		return 0;
	long bytes = bpf_get_task_stack(task, buffer, WAIT_FRAMES * sizeof(*buffer), 0);
	if (bytes <= 0)
		return 0;
	/* The helper sets words to 0 that it does not fill. */
	for (int i = 0; i < WAIT_FRAMES; i++)
		key = (key ^ buffer[i]) * 0x100000001b3;
	return key;
}

/* All of it. r may have anything in it before. */
static __always_inline void record_fill(struct seq_file *seq, struct task_struct *task,
					struct sw_iterate_record *r)
{
	/* Before the registers, whose space it uses: a program has 512 bytes in all. */
	r->wait_key = wait_keys_are_wanted(seq) ? wait_key(task, r->regs) : 0;
	proof_read(task, r);
	times_read(task, r);
	r->exec_id = task->self_exec_id;
	struct numbers numbers = numbers_of(task);
	r->tid = numbers.reader;
	r->inner_tid = numbers.inner;
	r->traced = task->ptrace;
	r->tracer = r->traced != 0 ? numbers_of(pointer_at(&task->parent)).reader : 0;
	const struct signal_struct *signal = pointer_at(&task->signal);
	r->is_last = pointer_at(&task->thread_node.next) == &signal->thread_head;
	r->state = task->__state;
	r->exit_state = task->exit_state;
	r->flags = task->flags;
	r->in_exec = (uint16_t) is_in_exec(task, r);
	r->rt_priority = (uint16_t) task->rt_priority;
	__builtin_memcpy(r->comm, task->comm, sizeof(r->comm));
}

#endif
