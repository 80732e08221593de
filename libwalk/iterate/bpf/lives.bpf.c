/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The threads of a process, from their making to their end: a copy of the thread that makes one, a short record of one that
 * ends, and of execve(2), after which the process has one thread. These trace points are not at system calls: only who makes
 * and ends threads, processes and programs comes here.
 */
#include "iterate/bpf/called.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

enum { CLONE_THREAD = 0x10000 }; /* include/uapi/linux/sched.h */

/* The new thread is there, has its number, and has not run. Source: kernel/fork.c, copy_process(), 6.1 to 6.18. */
SEC("raw_tp/task_newtask")
int sw_thread_made(const uint64_t *ctx)
{
	uint32_t zero = 0;
	if ((ctx[1] & CLONE_THREAD) == 0)
		return 0;
	const struct task_struct *made = (const struct task_struct *) ctx[0];
	const struct task_struct *task = bpf_get_current_task_btf();
	struct sw_called_setup *called = bpf_map_lookup_elem(&sw_called, &zero);
	struct taking t;
	if (called == NULL || !is_process(called, task) || !taking_begin(&t, false))
		return 0;
	const struct sw_called_event event = {
		.number = __sync_fetch_and_add(&called->n_events, 1),
		.what = SW_CALLED_ACQUIRED,
		.value = {number_in(made, t.setup->pid_namespace), word_at(&made->thread.fsbase),
			  word_at(&task->thread.fsbase)},
	};
	event_take(&t, &event);
	return 0;
}

static __always_inline int ended_put(uint64_t what)
{
	uint32_t zero = 0;
	const struct task_struct *task = bpf_get_current_task_btf();
	struct sw_called_setup *called = bpf_map_lookup_elem(&sw_called, &zero);
	const struct sw_sampled_setup *setup = bpf_map_lookup_elem(&sw_setup, &zero);
	if (called != NULL && setup != NULL && is_process(called, task))
		alone_put(called, task, what, number_in(task, setup->pid_namespace), 0, 0);
	return 0;
}

SEC("raw_tp/sched_process_exit")
int sw_thread_ended(const uint64_t *ctx)
{
	(void) ctx;
	return ended_put(SW_CALLED_RELEASED);
}

SEC("raw_tp/sched_process_exec")
int sw_thread_alone(const uint64_t *ctx)
{
	(void) ctx;
	return ended_put(SW_CALLED_PROGRAM);
}
