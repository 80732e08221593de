/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef SW_ITERATE_INTERRUPTED_BPF_H
#define SW_ITERATE_INTERRUPTED_BPF_H

#include "iterate/bpf/kernel.bpf.h"

/* Whether an event of perf_event_open(2) has interrupted the kernel. interrupted: struct pt_regs, as the program has it. */
static __always_inline bool is_in_kernel(const uint64_t *interrupted)
{
	enum {
		WORD_CS = 17,
		USER_MODE = 3, /* the lower bits of cs */
	};
	return (interrupted[WORD_CS] & USER_MODE) == 0;
}

#endif
