/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arch/user_regs.h"
#include "test.h"

#include <string.h>

/* A register is where the registers of a thread are filled from. */
TEST(test_offsets)
{
	struct user_regs_struct regs = {0};
	struct sw_thread thread = {0};
	for (unsigned i = 0; i < SW_REGS_MAX; i++) {
		uint64_t value = 0x100 + i;
		memcpy((uint8_t *) &regs + sw_arch_user_offset(i), &value, sizeof(value));
	}
	assert_int_equal(regs.rdi, 0x105);
	assert_int_equal(regs.rsp, 0x107);
	sw_arch_thread_fill(&thread, &regs);
	for (unsigned i = 0; i < SW_REGS_MAX; i++)
		assert_int_equal(thread.regs.val[i], 0x100 + i);
}
