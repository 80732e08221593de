/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_ITERATE_PROOF_H
#define SW_ITERATE_PROOF_H

#include "iterate/record.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * That a thread did not run while its stack was copied.
 *
 *	pass 1	on_cpu, then counters, then registers
 *	copy	process_vm_readv()
 *	pass 2	on_cpu, then counters, then registers
 *
 * Rule: a copy is accepted when the thread was on no CPU in both passes, and the counters and
 * registers of both are the same. Then it executed no instruction of its own from the reading of the
 * counters in pass 1 (c1) to the reading of on_cpu in pass 2 (o2). The copy lies between them, and the
 * registers belong to it.
 *
 * Proof. Say it executed one at t, c1 < t < o2. The kernel's order of a turn on a CPU is
 *
 *	on_cpu = 1		prepare_task()	before the switch to it
 *	instructions
 *	nvcsw++ or nivcsw++	__schedule()	before the switch away from it
 *	on_cpu = 0		finish_task()	after the switch, smp_store_release()
 *
 * Either its turn's counter was raised before o2: it was raised after t, so after c1, and pass 2, which
 * reads the counters after on_cpu, sees another number. Or it was not: then on_cpu is 1 from before t
 * to after o2, and pass 2 sees that. Both are refused. q.e.d.
 * The first pass's on_cpu, the run time and the comparison of the registers are not needed for that.
 * They refuse what was read in the middle of a switch (FS and GS bases are saved later than the other
 * registers), and registers that another tracer wrote in between.
 * Source: linux kernel/sched/core.c __schedule(), prepare_task(), finish_task() and
 * arch/x86/kernel/process_64.c __switch_to(), v6.1. Measured there and on v6.18 (test_iterate.py).
 *
 * The proof stands on:
 * - Loads and stores of x86-64 stay in order among themselves: who sees what the thread wrote to its
 *   stack also sees the on_cpu = 1 before it. Other architectures need barriers here.
 * - There is no other way to and from a CPU than __schedule(). A turn that ends with the same thread
 *   being chosen again raises nothing, and on_cpu stays 1 through it.
 * - The state is not compared: a sleeping thread that was woken and still waits for a CPU has not run.
 * - The run time may lag behind by a tick while the thread runs, never while it does not.
 * - start_ns with tid tells a thread from a later one of the same id; exec_id the same program.
 *
 * The proof does not say, no more than a stop of that thread alone would:
 * - Others may write to its stack: other threads that have a pointer into it, the kernel (asynchronous
 *   reads, io_uring), another process (process_vm_writev(), ptrace, shared memory, the child of a
 *   vfork() which runs on the stack of its parent, below the parent's frames), and they may unmap or move
 *   the mapping (munmap(), mremap(), MADV_DONTNEED). Copy on write after fork(), migration, merging and
 *   swapping of pages change no contents. Of threads of the same process: sw_iterate_is_quiescent().
 * - In the middle of a system call that rewrites all registers, rt_sigreturn() or execve(), the kernel
 *   may be preempted or wait. execve() is told (in_exec). rt_sigreturn() copies its frame at once and
 *   sets the registers afterwards: on a kernel that preempts itself (PREEMPT) there is a window of
 *   twenty instructions in which some registers are of before and some of after it.
 */

/**
 * Whether the thread of these two records did not run between them: the rule above.
 * It does not say that the registers are those of user code: sw_iterate_has_registers().
 */
bool sw_iterate_is_unchanged(const struct sw_iterate_record *before,
			     const struct sw_iterate_record *after);

/**
 * Whether no thread of the process ran from the end of the pass that gave before to the beginning of
 * that which gave after: what was copied in between is of one instant, as if all had been stopped.
 * Both passes whole: not for one with sw_iterate_pass.overflow.
 *
 * Every thread is unchanged, and there was no other one. A thread is made by one of its own process,
 * which would have had to run; so it is enough that the first pass saw all there were. The kernel ends a
 * pass early when the thread ends at which it stands (task_group_seq_get_next()): then there is one
 * behind its last record, and that says so. It leaves out none in the middle: it goes from thread to
 * thread by their list, to whose end new ones are added.
 * io_uring workers and their like may run and begin: they have no code in the process, and ptrace cannot
 * stop them either.
 */
bool sw_iterate_is_quiescent(const struct sw_iterate_record *before, size_t n_before,
			     const struct sw_iterate_record *after, size_t n_after);

#endif
