/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CAPTURE_KERNEL_H
#define SW_CAPTURE_KERNEL_H

#include "capture/take.h"
#include "arena.h"

/*
 * Kernel stacks of blocked threads (sw_thread.kernel), as /proc/PID/task/TID/stack tells them: names and
 * no addresses, by the kernel's own unwinder. Only who has CAP_SYS_ADMIN in the first user namespace is
 * told. Nothing is stopped for it; a thread that ran since its registers were read has none.
 */

/* After the windows. All threads that they read, or those in state D alone. */
void sw_kernel_stacks_read(struct sw_take *take);

/* The text of such a file. NULL: it has no frames, or there is no memory; with frames of the arena. */
const struct sw_kernel_stack *sw_kernel_stack_parse(const char *text, struct sw_arena *arena);

#endif
