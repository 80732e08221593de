/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/wine/teb.h"

enum {
	TEB_BLOCK_BYTES = 0x10000,   /* signal_stack_mask + 1 */
	SIGNAL_STACK_OFF = 0x3800,   /* teb_size */
	UNIX_STACK_BYTES = 0x100000, /* kernel_stack_size */
};

/* Offsets of fields. */
struct layout {
	uint16_t stack_base, stack_limit, self, thread_id, exit_frame, syscall_frame, kernel_stack;
};
static const struct layout layouts[2] = {
	{0x08, 0x10, 0x30, 0x48, 0x320, 0x328, 0x370},
	{0x04, 0x08, 0x18, 0x24, 0x1f4, 0x1f8, 0x214},
};

static bool word_at(struct sw_bytes bytes, bool is_32bit, uint64_t off, uint64_t *ret)
{
	uint32_t half;
	if (!is_32bit)
		return sw_bytes_u64(bytes, off, ret);
	if (!sw_bytes_u32(bytes, off, &half))
		return false;
	*ret = half;
	return true;
}

bool sw_wine_teb_parse(struct sw_bytes bytes, bool is_32bit, uint64_t teb_avma,
		       struct sw_wine_teb *ret)
{
	uint64_t self;
	const struct layout *l = &layouts[is_32bit];
	struct sw_wine_teb t = {.is_32bit = is_32bit, .teb_avma = teb_avma};
	if (!word_at(bytes, is_32bit, l->self, &self) || self != teb_avma ||
	    !word_at(bytes, is_32bit, l->stack_base, &t.stack_base_avma) ||
	    !word_at(bytes, is_32bit, l->stack_limit, &t.stack_limit_avma) ||
	    !word_at(bytes, is_32bit, l->thread_id, &t.thread_id) ||
	    !word_at(bytes, is_32bit, l->exit_frame, &t.exit_frame_avma) ||
	    !word_at(bytes, is_32bit, l->syscall_frame, &t.syscall_frame_avma) ||
	    !word_at(bytes, is_32bit, l->kernel_stack, &t.unix_avma))
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
	       sw_wine_teb_parse((struct sw_bytes){bytes, sizeof(bytes)},
				 sw_memory_is_32bit(memory), teb_avma, ret);
}
