/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_RESTART_H
#define SW_RESTART_H

#include <snapwalk/walk.h>

/*
 * A stop by ptrace ends some blocking system calls with EINTR, although no signal came. At the
 * stop such a thread's return register still says so, and the kernel looks at it once more after
 * the stop: -ERESTARTNOHAND there makes it begin the call again, unless a signal with a handler
 * came too, which ends it with EINTR as without us.
 * Source: linux arch/x86/kernel/signal.c, arch_do_signal_or_restart(), v6.1.
 */
enum {
	SW_ERESTARTNOHAND = 514, /* linux include/linux/errno.h: never seen by programs */
};

enum sw_restart_verdict {
	SW_RESTART_NOTHING, /* the stop does not show: it was in no such call */
	SW_RESTART_HIDE,    /* write -ERESTARTNOHAND */
	SW_RESTART_VISIBLE, /* it will see EINTR */
};

/* number: of the system call as in sw_thread.syscall, negative when in none. args: its six arguments. */
enum sw_restart_verdict sw_restart_decide(int64_t number, int64_t result, const uint64_t args[6],
					  enum sw_restart mode);

#endif
