/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_REPORT_LIBRARY_WAITS_H
#define SW_REPORT_LIBRARY_WAITS_H

#include <snapwalk/protocol.h>
#include <snapwalk/snapshot.h>

/*
 * The wait of a thread by a function of its language's library: "queue_get", "semaphore" ... The
 * runtime, or the C library, knows only what that is made of. wait: what is known without it. NULL:
 * that says more.
 */
const char *sw_library_wait(const struct sw_report *report, const struct sw_report_stack *stack,
			    const struct sw_report_wait *wait);

/*
 * Rust's Once, by which OnceLock and LazyLock are initialised: a thread that finds another one at work waits in Once::call() or
 * Once::wait() for the word with which the Once begins.
 */

/* Whether a thread with that stack, which is in futex(), waits so. */
bool sw_is_at_rust_once(const struct sw_report *report, const struct sw_report_stack *stack);

/*
 * The thread that executes the function for which another one waits at that word. The word does not say it: the thread is in
 * Once::call(), too, with frames inside, and has the word's address on its stack or in a register, as it writes there in the
 * end. Returns 0: there are several, or it is not known. The threads of the snapshot are those of the report.
 */
pid_t sw_rust_once_runner(const struct sw_report *report, const struct sw_snapshot *snap,
			  const struct sw_thread *waiting, uint64_t word_avma);

#endif
