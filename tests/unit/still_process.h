/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_TESTS_STILL_PROCESS_H
#define SW_TESTS_STILL_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A child of this one whose threads all wait in pause(), below wait_for_ever(). It ends with the test. */
pid_t still_process_start(size_t n_threads);

/* Waits until they do so. A thread that was let go is for a moment at the system call's instruction, to make
 * the call again. */
void still_process_wait(pid_t pid, size_t n_threads);

void still_process_end(pid_t pid);

#endif
