/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The timers of a process (timer_create(2)): a copy of the thread that creates one, a short record of one that is deleted, and
 * of execve(2), which deletes all.
 *
 * A deletion is in a record when the call has returned, as only then it is known that there was such a timer. The kernel gives each new timer
 * the next number, so that none is used again meanwhile. Another thread may have deleted a timer before the call that created it
 * returns: then the deletion comes first.
 *
 * Not seen here: calls of 32-bit code. Timers of timerfd_create(2) are descriptors.
 */
#include "iterate/bpf/called.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* arch/x86/entry/syscalls/syscall_64.tbl */
enum { NR_timer_create = 222, NR_timer_delete = 226 };

SEC("raw_tp/sys_exit")
int sw_timer_exit(const uint64_t *ctx)
{
	uint32_t zero = 0;
	uint64_t arguments[SW_CALLED_ARGUMENTS];
	int32_t id;
	const struct task_struct *task = bpf_get_current_task_btf();
	const struct pt_regs *user = (const struct pt_regs *) bpf_task_pt_regs((void *) task);
	uint64_t number = user->orig_ax;
	if ((number != NR_timer_create && number != NR_timer_delete) || ctx[1] != 0 ||
	    (user->cs & SELECTOR) == USER32_CS)
		return 0;
	struct sw_called_setup *called = bpf_map_lookup_elem(&sw_called, &zero);
	if (called == NULL || !is_process(called, task))
		return 0;
	arguments_read(user, false, arguments);
	if (number == NR_timer_delete) {
		alone_put(called, task, SW_CALLED_RELEASED, (uint32_t) arguments[0], 0, 0);
		return 0;
	}
	if (bpf_probe_read_user(&id, sizeof(id), (const void *) arguments[2]) != 0)
		return 0; /* the check at the end finds it */
	struct taking t;
	const struct sw_called_event event = {
		.number = __sync_fetch_and_add(&called->n_events, 1),
		.what = SW_CALLED_ACQUIRED,
		.value = {(uint32_t) id},
	};
	if (!taking_known(&t, called))
		return 0;
	event_take(&t, &event);
	return 0;
}

SEC("raw_tp/sched_process_exec")
int sw_timer_program(const uint64_t *ctx)
{
	uint32_t zero = 0;
	(void) ctx;
	const struct task_struct *task = bpf_get_current_task_btf();
	struct sw_called_setup *called = bpf_map_lookup_elem(&sw_called, &zero);
	if (called != NULL && is_process(called, task))
		alone_put(called, task, SW_CALLED_PROGRAM, 0, 0, 0);
	return 0;
}
