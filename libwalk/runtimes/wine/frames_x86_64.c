/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/wine/frames.h"
#include "runtimes/wine/frames_i386.h"
#include "runtimes/wine/kept.h"

/* struct syscall_frame */
enum {
	FRAME_PREV = 0xa0,
	FRAME_CFA = 0xa8, /* Wine 10: call_user_mode_callback()'s; Wine 8: a table of functions */
	FRAME_RBP_8 = 0x400, /* Wine 8: behind it, call_user_mode_callback()'s rbp */
	FRAME_REGS_BYTES = 0xa0,
	/* A thread that leaves its call has sp up to here in the frame already. */
	FRAME_LEAVING_BYTES = 0x80,
	CALLBACK_BYTES = 0x40, /* of registers below call_user_mode_callback()'s rbp */
};

/* CONTEXT (winnt.h) */
enum {
	CONTEXT_FLAGS = 0x30,
	CONTEXT_CS = 0x38,
	CONTEXT_BYTES = 0x100,
	CONTEXT_AMD64 = 0x100000,
	USER_CS = 0x33,
};

/* The frame that encloses this one. They lie on one stack, the enclosing one above. 0: none. */
static enum sw_wine_result frame_prev(struct sw_memory memory, const struct sw_wine_teb *teb,
				      uint64_t frame_avma, uint64_t *ret_prev_avma,
				      uint64_t *ret_fault_avma)
{
	uint64_t prev, off = sw_memory_is_32bit(memory) ? SW_WINE_I386_PREV : FRAME_PREV;
	enum sw_wine_result r = sw_wine_fetch_word(memory, frame_avma + off, &prev, ret_fault_avma);
	if (r == SW_WINE_OK)
		*ret_prev_avma = prev > frame_avma && sw_wine_on_unix_stack(teb, prev) ? prev : 0;
	return r;
}

enum sw_wine_result sw_wine_syscall_frame(struct sw_memory memory, const struct sw_wine_teb *teb,
					  uint64_t sp_avma, uint64_t *ret_frame_avma,
					  uint64_t *ret_fault_avma)
{
	if (!sw_wine_on_unix_stack(teb, sp_avma))
		return SW_WINE_NONE;
	uint64_t frame = teb->syscall_frame_avma;
	uint64_t leaving = sw_memory_is_32bit(memory) ? SW_WINE_I386_LEAVING : FRAME_LEAVING_BYTES;
	for (size_t n = 0; n < SW_WINE_CALLBACKS_MAX && frame != 0; n++) {
		if (sp_avma < frame + leaving) {
			*ret_frame_avma = frame;
			return SW_WINE_OK;
		}
		enum sw_wine_result r = frame_prev(memory, teb, frame, &frame, ret_fault_avma);
		if (r != SW_WINE_OK)
			return r;
	}
	return SW_WINE_NONE;
}

enum sw_wine_result sw_wine_syscall_regs(struct sw_memory memory, uint64_t frame_avma,
					 struct sw_regs *ret, uint64_t *ret_fault_avma)
{
	/* All that a Windows function preserves; the others are not always saved. */
	static const struct sw_wine_kept kept[] = {
		{SW_X86_64_RBX, 0x08}, {SW_X86_64_RSI, 0x20}, {SW_X86_64_RDI, 0x28},
		{SW_X86_64_R12, 0x50}, {SW_X86_64_R13, 0x58}, {SW_X86_64_R14, 0x60},
		{SW_X86_64_R15, 0x68}, {SW_X86_64_RA, 0x70},  {SW_X86_64_RSP, 0x88},
		{SW_X86_64_RBP, 0x98},
	};
	if (sw_memory_is_32bit(memory))
		return sw_wine_i386_syscall_regs(memory, frame_avma, ret, ret_fault_avma);
	uint8_t bytes[FRAME_REGS_BYTES];
	enum sw_wine_result r =
		sw_wine_fetch(memory, frame_avma, bytes, sizeof(bytes), ret_fault_avma);
	if (r == SW_WINE_OK)
		(void) sw_wine_kept_load((struct sw_bytes){bytes, sizeof(bytes)}, false, kept,
					 sizeof(kept) / sizeof(*kept), ret); /* all inside */
	return r;
}

/*
 * The rbp of call_user_mode_callback() for the frame that it made. Wine 10 keeps its CFA in the
 * frame, rbp + 0x10; Wine 8 has a pointer into ntdll.so's data there and rbp behind the frame.
 */
static enum sw_wine_result callback_rbp(struct sw_memory memory, const struct sw_wine_teb *teb,
					uint64_t frame_avma, bool *ret_is_8, uint64_t *ret_rbp,
					uint64_t *ret_fault_avma)
{
	uint64_t value;
	enum sw_wine_result r = sw_wine_fetch(memory, frame_avma + FRAME_CFA, &value, sizeof(value),
					      ret_fault_avma);
	if (r != SW_WINE_OK)
		return r;
	*ret_is_8 = value <= frame_avma || !sw_wine_on_unix_stack(teb, value);
	*ret_rbp = value - 2 * SW_ARCH_WORD;
	if (!*ret_is_8)
		return SW_WINE_OK;
	r = sw_wine_fetch(memory, frame_avma + FRAME_RBP_8, ret_rbp, sizeof(*ret_rbp),
			  ret_fault_avma);
	if (r == SW_WINE_OK && (*ret_rbp <= frame_avma || !sw_wine_on_unix_stack(teb, *ret_rbp)))
		return SW_WINE_NONE;
	return r;
}

/* Wine 10's functions that make a syscall_frame keep their caller's registers so, below rbp. */
enum { BELOW = CALLBACK_BYTES };
static const struct sw_wine_kept kept_10[] = {
	{SW_X86_64_RBX, BELOW - 0x08}, {SW_X86_64_R12, BELOW - 0x10}, {SW_X86_64_R13, BELOW - 0x18},
	{SW_X86_64_R14, BELOW - 0x20}, {SW_X86_64_R15, BELOW - 0x28}, {SW_X86_64_RBP, BELOW},
	{SW_X86_64_RA, BELOW + 8},
};
enum { N_KEPT = sizeof(kept_10) / sizeof(*kept_10) };

static enum sw_wine_result below_rbp_load(struct sw_memory memory, uint64_t rbp,
					  const struct sw_wine_kept kept[N_KEPT],
					  struct sw_regs *ret, uint64_t *ret_fault_avma)
{
	uint8_t bytes[BELOW + 2 * SW_ARCH_WORD];
	enum sw_wine_result r =
		sw_wine_fetch(memory, rbp - BELOW, bytes, sizeof(bytes), ret_fault_avma);
	if (r != SW_WINE_OK)
		return r;
	(void) sw_wine_kept_load((struct sw_bytes){bytes, sizeof(bytes)}, false, kept, N_KEPT,
				 ret); /* inside */
	sw_regs_set(ret, SW_X86_64_RSP, rbp + 2 * SW_ARCH_WORD);
	return SW_WINE_OK;
}

static const struct sw_wine_kept kept_8[N_KEPT] = {
	{SW_X86_64_RBX, BELOW - 0x08}, {SW_X86_64_R12, BELOW - 0x20}, {SW_X86_64_R13, BELOW - 0x28},
	{SW_X86_64_R14, BELOW - 0x30}, {SW_X86_64_R15, BELOW - 0x38}, {SW_X86_64_RBP, BELOW},
	{SW_X86_64_RA, BELOW + 8},
};

/* The registers of call_user_mode_callback()'s caller: it keeps them below its rbp. */
static enum sw_wine_result callback_load(struct sw_memory memory, const struct sw_wine_teb *teb,
					 uint64_t frame_avma, struct sw_regs *ret,
					 uint64_t *ret_fault_avma)
{
	bool is_8;
	uint64_t rbp;
	if (sw_memory_is_32bit(memory))
		return sw_wine_i386_callback_load(memory, teb, frame_avma, ret, ret_fault_avma);
	enum sw_wine_result r = callback_rbp(memory, teb, frame_avma, &is_8, &rbp, ret_fault_avma);
	if (r != SW_WINE_OK)
		return r;
	return below_rbp_load(memory, rbp, is_8 ? kept_8 : kept_10, ret, ret_fault_avma);
}

/* Wine 8 sets its exit frame before anything else, Wine 10 has another field there. */
static bool is_wine_10(const struct sw_wine_teb *teb, uint64_t fs_base)
{
	return teb->exit_frame_avma == 0 || teb->exit_frame_avma == fs_base;
}

enum sw_wine_result sw_wine_caller_regs(struct sw_memory memory, const struct sw_wine_teb *teb,
					uint64_t fs_base, uint64_t rbp, struct sw_regs *ret,
					uint64_t *ret_fault_avma)
{
	return below_rbp_load(memory, rbp, is_wine_10(teb, fs_base) ? kept_10 : kept_8, ret,
			      ret_fault_avma);
}

enum sw_wine_result sw_wine_start_regs(struct sw_memory memory, const struct sw_wine_teb *teb,
				       uint64_t fs_base, const struct sw_regs *frame,
				       struct sw_regs *ret, uint64_t *ret_fault_avma)
{
	static const struct sw_wine_kept exit_kept[] = {
		{SW_X86_64_R15, 0x08}, {SW_X86_64_R14, 0x10}, {SW_X86_64_R13, 0x18},
		{SW_X86_64_R12, 0x20}, {SW_X86_64_RBX, 0x28}, {SW_X86_64_RBP, 0x30},
		{SW_X86_64_RA, 0x38},
	};
	uint8_t bytes[0x40];
	uint64_t rbp;
	if (sw_memory_is_32bit(memory))
		return sw_wine_i386_start_regs(memory, teb, frame, ret, ret_fault_avma);
	if (is_wine_10(teb, fs_base)) {
		if (!sw_regs_get(frame, SW_X86_64_RBP, &rbp))
			return SW_WINE_NONE;
		return below_rbp_load(memory, rbp, kept_10, ret, ret_fault_avma);
	}
	enum sw_wine_result r =
		sw_wine_fetch(memory, teb->exit_frame_avma, bytes, sizeof(bytes), ret_fault_avma);
	if (r != SW_WINE_OK)
		return r;
	(void) sw_wine_kept_load((struct sw_bytes){bytes, sizeof(bytes)}, false, exit_kept,
				 sizeof(exit_kept) / sizeof(*exit_kept), ret); /* inside */
	sw_regs_set(ret, SW_X86_64_RSP, teb->exit_frame_avma + sizeof(bytes));
	return SW_WINE_OK;
}

/*
 * Which of the nested callbacks it is, its sp tells: Windows frames of a callback lie below those of
 * the call that called back, whose sp its syscall_frame has.
 */
enum sw_wine_result sw_wine_callback_regs(struct sw_memory memory, const struct sw_wine_teb *teb,
					  uint64_t sp_avma, struct sw_regs *ret,
					  uint64_t *ret_fault_avma)
{
	uint64_t inner = teb->syscall_frame_avma, outer;
	for (size_t n = 0; n < SW_WINE_CALLBACKS_MAX; n++, inner = outer) {
		struct sw_regs regs;
		enum sw_wine_result r = frame_prev(memory, teb, inner, &outer, ret_fault_avma);
		if (r == SW_WINE_OK && outer == 0)
			return SW_WINE_NONE;
		if (r == SW_WINE_OK)
			r = sw_wine_syscall_regs(memory, outer, &regs, ret_fault_avma);
		if (r != SW_WINE_OK)
			return r;
		if (regs.sp_avma > sp_avma)
			return callback_load(memory, teb, inner, ret, ret_fault_avma);
	}
	return SW_WINE_NONE;
}

enum sw_wine_result sw_wine_context_regs(struct sw_memory memory, uint64_t sp_avma,
					 struct sw_regs *ret, uint64_t *ret_fault_avma)
{
	static const struct sw_wine_kept kept[] = {
		{SW_X86_64_RAX, 0x78}, {SW_X86_64_RCX, 0x80}, {SW_X86_64_RDX, 0x88},
		{SW_X86_64_RBX, 0x90}, {SW_X86_64_RSP, 0x98}, {SW_X86_64_RBP, 0xa0},
		{SW_X86_64_RSI, 0xa8}, {SW_X86_64_RDI, 0xb0}, {SW_X86_64_R8, 0xb8},
		{SW_X86_64_R9, 0xc0},  {SW_X86_64_R10, 0xc8}, {SW_X86_64_R11, 0xd0},
		{SW_X86_64_R12, 0xd8}, {SW_X86_64_R13, 0xe0}, {SW_X86_64_R14, 0xe8},
		{SW_X86_64_R15, 0xf0}, {SW_X86_64_RA, 0xf8},
	};
	/* From sp: at once; KiUserApcDispatcher of Wine 8 (struct apc_stack_layout), behind its
	 * first instruction and before it. */
	static const uint8_t places[] = {0, 0x30, 0x38};
	if (sw_memory_is_32bit(memory))
		return sw_wine_i386_context_regs(memory, sp_avma, ret, ret_fault_avma);
	for (size_t i = 0; i < sizeof(places); i++) {
		uint8_t raw[CONTEXT_BYTES];
		struct sw_bytes bytes = {raw, sizeof(raw)};
		uint64_t avma;
		uint32_t flags = 0;
		uint16_t cs = 0;
		if (__builtin_add_overflow(sp_avma, places[i], &avma))
			return SW_WINE_NONE;
		enum sw_wine_result r =
			sw_wine_fetch(memory, avma, raw, sizeof(raw), ret_fault_avma);
		if (r != SW_WINE_OK)
			return r;
		(void) sw_bytes_u32(bytes, CONTEXT_FLAGS, &flags); /* inside */
		(void) sw_bytes_u16(bytes, CONTEXT_CS, &cs);       /* inside */
		if (!(flags & CONTEXT_AMD64) || cs != USER_CS)
			continue;
		(void) sw_wine_kept_load(bytes, false, kept, sizeof(kept) / sizeof(*kept),
					 ret); /* inside */
		return SW_WINE_OK;
	}
	return SW_WINE_NONE;
}

/*
 * The kernel's frame has the registers behind uc_stack, which tells the very stack that it is on
 * (Linux 6.1, arch/x86/include/asm/sigframe.h, uapi/asm/sigcontext.h). From above: where a signal
 * interrupted another's handler, the first one is meant.
 */
bool sw_wine_signal_sp(struct sw_bytes bytes, const struct sw_wine_teb *teb, uint64_t *ret_sp_avma)
{
	if (teb->is_32bit)
		return sw_wine_i386_signal_sp(bytes, teb, ret_sp_avma);
	enum { STACK_SIZE = 0x10, REGS_RSP = 0x18 + 15 * 8 };
	for (size_t at = bytes.size & ~(size_t) 7; at >= 8; at -= 8) {
		uint64_t sp, size, rsp;
		if (!sw_bytes_u64(bytes, at - 8, &sp) || sp != teb->signal_avma ||
		    !sw_bytes_u64(bytes, at - 8 + STACK_SIZE, &size) ||
		    size != teb->signal_end_avma - teb->signal_avma ||
		    !sw_bytes_u64(bytes, at - 8 + REGS_RSP, &rsp))
			continue;
		*ret_sp_avma = rsp;
		return true;
	}
	return false;
}
