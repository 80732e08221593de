/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs while threads of the target may be STOPPED: tests/held.sh looks at what it calls. */
#include "waits/range.h"
#include "arch/arch.h"

#include <sys/syscall.h>

bool sw_futex_range(const struct sw_thread *t, uint64_t *ret_begin_avma, size_t *ret_bytes)
{
	uint64_t word_avma;
	if (t->syscall != SYS_futex || !sw_regs_get(&t->regs, SW_X86_64_RDI, &word_avma) ||
	    word_avma < SW_FUTEX_BEFORE_BYTES || (word_avma & 3) != 0)
		return false;
	*ret_begin_avma = word_avma - SW_FUTEX_BEFORE_BYTES;
	*ret_bytes = SW_WAIT_BYTES;
	return true;
}
