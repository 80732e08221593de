/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_ITERATE_THREAD_H
#define SW_ITERATE_THREAD_H

#include "iterate/record.h"

#include <stdbool.h>
#include <sys/user.h>

/* The meaning of a record. */

/*
 * Whether its registers are those with which it will go on in user mode. They are for a thread that
 * waits in a system call or for a page, was preempted, stopped by a signal or by a tracer. They are
 * not for one that
 * - is on a CPU: what is saved is of its last entry into the kernel, or of before that,
 * - has no code in the process: io_uring workers and the kernel's threads,
 * - is in execve(), see record.h, or ends (PF_EXITING): its memory may be gone,
 * A thread that was created and did not run yet has them: it returns from clone().
 */
bool sw_iterate_has_registers(const struct sw_iterate_record *r);

/* Runs kernel code only: PF_KTHREAD, PF_IO_WORKER, PF_USER_WORKER. */
bool sw_iterate_is_worker(const struct sw_iterate_record *r);

/* Runs 32-bit code: a 32-bit program, or that part of a 64-bit one (Wine). */
bool sw_iterate_is_32bit(const struct sw_iterate_record *r);

/* R S D T t X Z P I as in /proc/PID/stat. */
char sw_iterate_state(const struct sw_iterate_record *r);

/*
 * As PTRACE_GETREGS gives them, but for a thread in a system call that a stop would interrupt: rax is
 * what it was at the call (-ENOSYS), where ptrace shows the code of the restart.
 */
void sw_iterate_registers(const struct sw_iterate_record *r, struct user_regs_struct *ret);

/*
 * For how long it has been off the CPU, in nanoseconds; 0 when it is on one; -1 when unknown. To about
 * a timer tick, and later than it was by as long as the CPU served interrupts in the thread's last turn.
 * Each stop by ptrace is a turn on a CPU, and begins it anew.
 */
int64_t sw_iterate_waits_ns(const struct sw_iterate_record *r);

/* How often it left a CPU: the number of the proof, iterate/proof.h. */
static inline uint64_t sw_iterate_switches(const struct sw_iterate_record *r)
{
	return r->n_voluntary + r->n_involuntary;
}

/* The name of the thread, terminated. */
void sw_iterate_comm(const struct sw_iterate_record *r, char ret[SW_ITERATE_COMM + 1]);

#endif
