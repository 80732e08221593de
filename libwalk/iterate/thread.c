/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "iterate/thread.h"
#include "arch/user_regs.h"

#include <assert.h>
#include <string.h>

/* Source: linux include/linux/sched.h, v6.1; PF_USER_WORKER since v6.4, before it nothing. */
enum {
	FLAG_EXITING = 0x4,
	FLAG_IO_WORKER = 0x10,
	FLAG_USER_WORKER = 0x4000,
	FLAG_KTHREAD = 0x200000,
};

enum {
	STATE_UNINTERRUPTIBLE = 0x2,
	STATE_REPORTED = 0x7f, /* TASK_REPORT */
	STATE_NOLOAD = 0x400,
	STATE_RTLOCK_WAIT = 0x1000,
	STATE_FROZEN = 0x8000,
	STATE_IDLE = STATE_UNINTERRUPTIBLE | STATE_NOLOAD,
};

static_assert(sizeof(struct user_regs_struct) == SW_ITERATE_REGS * sizeof(uint64_t),
	      "records have the registers in the layout of ptrace(2)");

bool sw_iterate_is_worker(const struct sw_iterate_record *r)
{
	return (r->flags & (FLAG_KTHREAD | FLAG_IO_WORKER | FLAG_USER_WORKER)) != 0;
}

bool sw_iterate_has_registers(const struct sw_iterate_record *r)
{
	return r->on_cpu == 0 && !sw_iterate_is_worker(r) && (r->flags & FLAG_EXITING) == 0 &&
	       r->exit_state == 0 && r->in_exec == 0;
}

bool sw_iterate_is_32bit(const struct sw_iterate_record *r)
{
	struct user_regs_struct regs;
	sw_iterate_registers(r, &regs);
	return sw_arch_is_32bit(&regs);
}

/* Source: linux include/linux/sched.h __task_state_index(), v6.1. */
char sw_iterate_state(const struct sw_iterate_record *r)
{
	static const char letters[] = "RSDTtXZP";
	if ((r->state & STATE_IDLE) == STATE_IDLE)
		return 'I';
	if (r->state & (STATE_RTLOCK_WAIT | STATE_FROZEN))
		return 'D';
	uint32_t reported = (r->state | r->exit_state) & STATE_REPORTED;
	return letters[reported == 0 ? 0 : 32 - __builtin_clz(reported)];
}

void sw_iterate_registers(const struct sw_iterate_record *r, struct user_regs_struct *ret)
{
	memcpy(ret, r->regs, sizeof(*ret));
}

int64_t sw_iterate_waits_ns(const struct sw_iterate_record *r)
{
	if (r->on_cpu != 0)
		return 0;
	uint64_t since = r->queued_ns != 0 ? r->queued_ns : r->arrived_ns + r->stint_ns;
	if (r->arrived_ns == 0 && r->queued_ns == 0)
		return -1;
	/* Clocks of two CPUs may differ a little. */
	return since >= r->clock_ns ? 0 : (int64_t) (r->clock_ns - since);
}

void sw_iterate_comm(const struct sw_iterate_record *r, char ret[SW_ITERATE_COMM + 1])
{
	memcpy(ret, r->comm, SW_ITERATE_COMM);
	ret[SW_ITERATE_COMM] = '\0';
}
