/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SNAPWALK_THREAD_ENDS_H
#define SNAPWALK_THREAD_ENDS_H

/*
 * Which threads of a process its C library still has: those that run, and those that have ended and that nobody joined.
 */

#include <snapwalk/error.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sw_thread_end {
	uint64_t pointer_avma; /* its thread pointer */
	bool has_ended;        /* and was not joined; its stack stays mapped until it is */
};

/**
 * Read the threads that the C library of a running process has. Nothing is stopped, and no page is waited for: the answer
 * comes within some seconds.
 *
 * @param proc_fd       /proc/PID, with the right to read its mem and pagemap.
 * @param running_avma  Thread pointers of some threads that run, as far as they are known.
 * @param ret           Owned by the caller: free(). Set only on success.
 * @return 0; -SW_E_UNSUPPORTED: not known, as it is not glibc from 2.34 on, its threads change all the time, or its entries
 *         are not in memory; -SW_E_TIMEOUT; -SW_E_LIMIT: there are more entries than are read; -SW_E_NOMEM.
 */
SW_PUBLIC int sw_thread_ends(int proc_fd, const uint64_t *running_avma, size_t n,
			     struct sw_thread_end **ret, size_t *ret_n);

#ifdef __cplusplus
}
#endif

#endif
