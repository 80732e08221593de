/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_MEMORY_ALLOCATORS_H
#define SW_CLI_MEMORY_ALLOCATORS_H

#include "common/pair_word.h"
#include "events/function.h"

/*
 * The functions of the allocators that a process has loaded: malloc(3) and its like of the C library, of jemalloc, tcmalloc
 * and mimalloc, of the program itself; of the latter operator new and delete, too, which in libstdc++ call malloc.
 */

/* Lists them, by the files that are mapped; what of them there is, is looked up by sw_pairs_look(). proc_fd: /proc/PID.
 * 0; -SW_E_IO; -SW_E_NOMEM. */
int sw_allocators_list(int proc_fd, struct sw_pair_list *ret, struct sw_error *err);
/* Drops names of code that another name is of already, and the names that no allocator there has. */
void sw_allocators_tidy(struct sw_function *function);
/* Whether a line of a stack (struct sw_event_stack) goes through one of them. */
bool sw_allocators_are_in(const char *label);

#endif
