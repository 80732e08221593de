/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/wine/teb.h"

enum {
	TEB_STACK_BASE = 0x08,
	TEB_STACK_LIMIT = 0x10,
	TEB_SELF = 0x30,
	TEB_THREAD_ID = 0x48,
	TEB_EXIT_FRAME = 0x320,
	TEB_SYSCALL_FRAME = 0x328,
	TEB_KERNEL_STACK = 0x370,
	TEB_BLOCK_BYTES = 0x10000,   /* signal_stack_mask + 1 */
	SIGNAL_STACK_OFF = 0x3800,   /* teb_size */
	UNIX_STACK_BYTES = 0x100000, /* kernel_stack_size */
};

bool sw_wine_teb_parse(struct sw_bytes bytes, uint64_t teb_avma, struct sw_wine_teb *ret)
{
	uint64_t self;
	struct sw_wine_teb t = {.teb_avma = teb_avma};
	if (!sw_bytes_u64(bytes, TEB_SELF, &self) || self != teb_avma ||
	    !sw_bytes_u64(bytes, TEB_STACK_BASE, &t.stack_base_avma) ||
	    !sw_bytes_u64(bytes, TEB_STACK_LIMIT, &t.stack_limit_avma) ||
	    !sw_bytes_u64(bytes, TEB_THREAD_ID, &t.thread_id) ||
	    !sw_bytes_u64(bytes, TEB_EXIT_FRAME, &t.exit_frame_avma) ||
	    !sw_bytes_u64(bytes, TEB_SYSCALL_FRAME, &t.syscall_frame_avma) ||
	    !sw_bytes_u64(bytes, TEB_KERNEL_STACK, &t.unix_avma))
		return false;
	if (t.stack_limit_avma >= t.stack_base_avma ||
	    __builtin_add_overflow(t.unix_avma, UNIX_STACK_BYTES, &t.unix_end_avma) ||
	    !sw_wine_on_unix_stack(&t, t.syscall_frame_avma))
		return false;
	uint64_t block = teb_avma & -(uint64_t) TEB_BLOCK_BYTES;
	t.signal_avma = block + SIGNAL_STACK_OFF;
	if (__builtin_add_overflow(block, TEB_BLOCK_BYTES, &t.signal_end_avma))
		return false;
	*ret = t;
	return true;
}

bool sw_wine_teb_read(struct sw_memory memory, uint64_t teb_avma, struct sw_wine_teb *ret)
{
	uint8_t bytes[SW_WINE_TEB_BYTES];
	return teb_avma != 0 && sw_memory_read(memory, teb_avma, bytes, sizeof(bytes)) &&
	       sw_wine_teb_parse((struct sw_bytes){bytes, sizeof(bytes)}, teb_avma, ret);
}
