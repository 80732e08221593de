/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs while threads of the target may be STOPPED: tests/held.sh looks at what it calls. */
#include "waits/range.h"
#include "arch/arch.h"
#include "arch/syscall.h"

#include <sys/syscall.h>

/* Source: of i386, Linux 6.1 arch/x86/entry/syscalls/syscall_32.tbl and entry_64_compat.S. */
enum {
	I386_FUTEX = SW_SYSCALL_I386 + 240,
	I386_FUTEX_TIME64 = SW_SYSCALL_I386 + 422,
};

bool sw_futex_call(const struct sw_thread *t, uint64_t *ret_word_avma, uint64_t *ret_operation)
{
	bool is_32bit = t->syscall == I386_FUTEX || t->syscall == I386_FUTEX_TIME64;
	if (!is_32bit && t->syscall != SYS_futex)
		return false;
	return sw_regs_get(&t->regs, sw_arch_syscall_register(is_32bit, 0), ret_word_avma) &&
	       sw_regs_get(&t->regs, sw_arch_syscall_register(is_32bit, 1), ret_operation);
}

bool sw_futex_range(const struct sw_thread *t, uint64_t *ret_begin_avma, size_t *ret_bytes)
{
	uint64_t word_avma, operation;
	if (!sw_futex_call(t, &word_avma, &operation) || word_avma < SW_FUTEX_BEFORE_BYTES ||
	    (word_avma & 3) != 0)
		return false;
	*ret_begin_avma = word_avma - SW_FUTEX_BEFORE_BYTES;
	*ret_bytes = SW_WAIT_BYTES;
	return true;
}
