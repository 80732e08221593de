/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SNAPWALK_REFUSED_H
#define SNAPWALK_REFUSED_H

#include <snapwalk/error.h>

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Note a system call that was refused to the process that reads the data of runtimes.
 *
 * That process has a filter of system calls and says itself which call it was refused. Where the caller has a handler of
 * SIGSYS, that process has the same one, which is to call this: a warning of the snapshot has the number then.
 * Async-signal-safe.
 *
 * @param call     si_syscall of the handler's siginfo_t.
 * @param context  The handler's ucontext_t.
 * @return false in any other process: nothing was done.
 */
SW_PUBLIC bool sw_reader_is_refused(int call, const void *context);

#ifdef __cplusplus
}
#endif

#endif
