/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/wine/frames_i386.h"
#include "runtimes/wine/kept.h"

/* struct syscall_frame */
enum {
	FRAME_CFA = 0x38,    /* Wine 9: call_user_mode_callback()'s; Wine 8: a table of functions */
	FRAME_EBP_8 = 0x380, /* Wine 8: behind it, call_user_mode_callback()'s ebp */
	FRAME_REGS_BYTES = 0x38,
	BELOW = 0x0c, /* of registers below the ebp of a function that makes a frame */
	WORD = 4,
};

/* CONTEXT (winnt.h) */
enum {
	CONTEXT_FLAGS = 0,
	CONTEXT_CS = 0xbc,
	CONTEXT_BYTES = 0xc8,
	CONTEXT_I386 = 0x10000,
	USER_CS = 0x23,
};

enum sw_wine_result sw_wine_i386_syscall_regs(struct sw_memory memory, uint64_t frame_avma,
					      struct sw_regs *ret, uint64_t *ret_fault_avma)
{
	static const struct sw_wine_kept kept[] = {
		{SW_X86_64_RA, 0x08},  {SW_X86_64_RSP, 0x0c}, {SW_X86_64_RBX, 0x20},
		{SW_X86_64_RDI, 0x2c}, {SW_X86_64_RSI, 0x30}, {SW_X86_64_RBP, 0x34},
	};
	uint8_t bytes[FRAME_REGS_BYTES];
	enum sw_wine_result r =
		sw_wine_fetch(memory, frame_avma, bytes, sizeof(bytes), ret_fault_avma);
	if (r == SW_WINE_OK)
		(void) sw_wine_kept_load((struct sw_bytes){bytes, sizeof(bytes)}, true, kept,
					 sizeof(kept) / sizeof(*kept), ret); /* all inside */
	return r;
}

/* All functions that make a frame push ebp, ebx, esi, edi. */
static enum sw_wine_result below_ebp_load(struct sw_memory memory, uint64_t ebp,
					  struct sw_regs *ret, uint64_t *ret_fault_avma)
{
	static const struct sw_wine_kept kept[] = {
		{SW_X86_64_RDI, BELOW - 0x0c}, {SW_X86_64_RSI, BELOW - 0x08},
		{SW_X86_64_RBX, BELOW - 0x04}, {SW_X86_64_RBP, BELOW},
		{SW_X86_64_RA, BELOW + WORD},
	};
	uint8_t bytes[BELOW + 2 * WORD];
	enum sw_wine_result r =
		sw_wine_fetch(memory, ebp - BELOW, bytes, sizeof(bytes), ret_fault_avma);
	if (r != SW_WINE_OK)
		return r;
	(void) sw_wine_kept_load((struct sw_bytes){bytes, sizeof(bytes)}, true, kept,
				 sizeof(kept) / sizeof(*kept), ret); /* all inside */
	sw_regs_set(ret, SW_X86_64_RSP, ebp + 2 * WORD);
	return SW_WINE_OK;
}

enum sw_wine_result sw_wine_i386_callback_load(struct sw_memory memory,
					       const struct sw_wine_teb *teb, uint64_t frame_avma,
					       struct sw_regs *ret, uint64_t *ret_fault_avma)
{
	uint64_t cfa, ebp;
	enum sw_wine_result r =
		sw_wine_fetch_word(memory, frame_avma + FRAME_CFA, &cfa, ret_fault_avma);
	if (r != SW_WINE_OK)
		return r;
	ebp = cfa - 2 * WORD;
	if (cfa <= frame_avma || !sw_wine_on_unix_stack(teb, cfa)) {
		r = sw_wine_fetch_word(memory, frame_avma + FRAME_EBP_8, &ebp, ret_fault_avma);
		if (r != SW_WINE_OK)
			return r;
		if (ebp <= frame_avma || !sw_wine_on_unix_stack(teb, ebp))
			return SW_WINE_NONE;
	}
	return below_ebp_load(memory, ebp, ret, ret_fault_avma);
}

enum sw_wine_result sw_wine_i386_start_regs(struct sw_memory memory, const struct sw_wine_teb *teb,
					    const struct sw_regs *frame, struct sw_regs *ret,
					    uint64_t *ret_fault_avma)
{
	uint64_t ebp;
	(void) teb;
	if (!sw_regs_get(frame, SW_X86_64_RBP, &ebp))
		return SW_WINE_NONE;
	return below_ebp_load(memory, ebp, ret, ret_fault_avma);
}

static enum sw_wine_result context_load(struct sw_memory memory, uint64_t avma, struct sw_regs *ret,
					uint64_t *ret_fault_avma)
{
	static const struct sw_wine_kept kept[] = {
		{SW_X86_64_RDI, 0x9c}, {SW_X86_64_RSI, 0xa0}, {SW_X86_64_RBX, 0xa4},
		{SW_X86_64_RDX, 0xa8}, {SW_X86_64_RCX, 0xac}, {SW_X86_64_RAX, 0xb0},
		{SW_X86_64_RBP, 0xb4}, {SW_X86_64_RA, 0xb8},  {SW_X86_64_RSP, 0xc4},
	};
	uint8_t raw[CONTEXT_BYTES];
	struct sw_bytes bytes = {raw, sizeof(raw)};
	uint32_t flags = 0;
	uint16_t cs = 0;
	enum sw_wine_result r = sw_wine_fetch(memory, avma, raw, sizeof(raw), ret_fault_avma);
	if (r != SW_WINE_OK)
		return r;
	(void) sw_bytes_u32(bytes, CONTEXT_FLAGS, &flags); /* inside */
	(void) sw_bytes_u16(bytes, CONTEXT_CS, &cs);       /* inside */
	if (!(flags & CONTEXT_I386) || cs != USER_CS)
		return SW_WINE_NONE;
	(void) sw_wine_kept_load(bytes, true, kept, sizeof(kept) / sizeof(*kept), ret); /* inside */
	return SW_WINE_OK;
}

/* A pointer to one that lies above, on the same stack. */
static enum sw_wine_result context_through(struct sw_memory memory, uint64_t at_avma,
					   struct sw_regs *ret, uint64_t *ret_fault_avma)
{
	uint64_t avma;
	enum sw_wine_result r = sw_wine_fetch_word(memory, at_avma, &avma, ret_fault_avma);
	if (r != SW_WINE_OK)
		return r;
	return avma > at_avma && avma - at_avma < UINT16_MAX
		       ? context_load(memory, avma, ret, ret_fault_avma)
		       : SW_WINE_NONE;
}

/*
 * KiUserExceptionDispatcher gets a pointer to the CONTEXT as its second argument; KiUserApcDispatcher of Wine 9
 * has the CONTEXT behind its own arguments, of which the first is popped before it calls. Then it pushes two
 * arguments of NtContinue() below the CONTEXT.
 */
enum sw_wine_result sw_wine_i386_context_regs(struct sw_memory memory, uint64_t sp_avma,
					      struct sw_regs *ret, uint64_t *ret_fault_avma)
{
	/* At once, where a register has its address: wine/replace.h. */
	static const uint8_t places[] = {0, 0x10, 0x14, 4, 8, 12};
	enum sw_wine_result r = context_through(memory, sp_avma + WORD, ret, ret_fault_avma);
	for (size_t i = 0; i < sizeof(places) && r == SW_WINE_NONE; i++)
		r = context_load(memory, sp_avma + places[i], ret, ret_fault_avma);
	return r;
}

/* KiUserApcDispatcher of Wine 8 is a function of C, and has it behind its return address. */
enum sw_wine_result sw_wine_i386_argument_regs(struct sw_memory memory, uint64_t cfa_avma,
					       struct sw_regs *ret, uint64_t *ret_fault_avma)
{
	return context_through(memory, cfa_avma, ret, ret_fault_avma);
}

/* As sw_wine_signal_sp(); Linux 6.1, arch/x86/include/asm/ia32.h, struct ucontext_ia32. */
bool sw_wine_i386_signal_sp(struct sw_bytes bytes, const struct sw_wine_teb *teb,
			    uint64_t *ret_sp_avma)
{
	enum { STACK_SIZE = 8, REGS_ESP = 12 + 28 };
	for (size_t at = bytes.size & ~(size_t) 3; at >= WORD; at -= WORD) {
		uint32_t sp, size, esp;
		if (!sw_bytes_u32(bytes, at - WORD, &sp) || sp != teb->signal_avma ||
		    !sw_bytes_u32(bytes, at - WORD + STACK_SIZE, &size) ||
		    size != teb->signal_end_avma - teb->signal_avma ||
		    !sw_bytes_u32(bytes, at - WORD + REGS_ESP, &esp))
			continue;
		*ret_sp_avma = esp;
		return true;
	}
	return false;
}
