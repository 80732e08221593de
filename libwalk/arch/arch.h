/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_ARCH_H
#define SW_ARCH_H

#include "arch/asked.h"
#include "memory.h"

#include <snapwalk/walk.h>

/*
 * The part of unwinding that depends on the processor. Only the files of this folder know registers
 * and instructions; the rest works in the numbers of struct sw_regs, which are DWARF's of x86-64.
 * Programs for i386 run on the same processor and have the lower halves of the first eight of them,
 * and the pc: only tables, which number them otherwise, are translated (sw_arch_reg_of_column()).
 * Memory says whether its code is that of 32-bit programs (sw_memory_is_32bit()). Source: System V
 * AMD64 psABI 1.0, figure 3.36 (DWARF register numbers).
 */
enum {
	SW_X86_64_RAX = 0,
	SW_X86_64_RDX = 1,
	SW_X86_64_RCX = 2,
	SW_X86_64_RBX = 3,
	SW_X86_64_RSI = 4,
	SW_X86_64_RDI = 5,
	SW_X86_64_RBP = 6,
	SW_X86_64_RSP = 7,
	SW_X86_64_R8 = 8,
	SW_X86_64_R9 = 9,
	SW_X86_64_R10 = 10,
	SW_X86_64_R11 = 11,
	SW_X86_64_R12 = 12,
	SW_X86_64_R13 = 13,
	SW_X86_64_R14 = 14,
	SW_X86_64_R15 = 15,
	SW_X86_64_RA = 16,
	SW_ARCH_SP = SW_X86_64_RSP,
	SW_ARCH_FP = SW_X86_64_RBP,
	SW_ARCH_RA = SW_X86_64_RA,
	SW_ARCH_RESULT = SW_X86_64_RAX, /* of a function or system call */
	/* A handler of exceptions is told in these, and moves the stack by the last one (psABI 1.0, §3.2.1; GCC's
	 * EH_RETURN_DATA_REGNO and EH_RETURN_STACKADJ_RTX, for i386, too). */
	SW_ARCH_HANDLER_FIRST = SW_X86_64_RAX,
	SW_ARCH_HANDLER_SECOND = SW_X86_64_RDX,
	SW_ARCH_HANDLER_STACK = SW_X86_64_RCX,
	SW_ARCH_WORD =
		8, /* bytes of a return address on the stack; of i386 sw_memory_word_bytes() */
	/* Bytes below sp that a leaf function may use: psABI 1.0, §3.2.2 "red zone". */
	SW_ARCH_RED_ZONE = 128,
	/* Longest CALL that arch_call_before() looks for, without prefixes. */
	SW_ARCH_CALL_MAX = 7,
	/* Bytes of code from an entry point in which its only call must lie: 80 in Free Pascal 3.2.2,
	 * rtl/linux/x86_64/si_c.inc. */
	SW_ARCH_ENTRY_MAX = 96,
	/* Most bytes of a function that sw_arch_is_first_insn() knows: 26 in glibc 2.36. */
	SW_ARCH_FIRST_MAX = 64,
};

static inline bool sw_regs_get(const struct sw_regs *regs, unsigned number, uint64_t *ret)
{
	if (number == SW_ARCH_SP)
		*ret = regs->sp_avma;
	else if (number == SW_ARCH_RA)
		*ret = regs->pc_avma;
	else if (number < SW_REGS_MAX && (regs->known & (UINT32_C(1) << number))) {
		*ret = regs->val[number];
		if (regs->asked != NULL && (regs->initial & (UINT32_C(1) << number)))
			sw_asked_note(regs->asked, number);
	} else
		return false;
	return true;
}

static inline void sw_regs_set(struct sw_regs *regs, unsigned number, uint64_t value)
{
	if (number >= SW_REGS_MAX)
		return;
	regs->val[number] = value;
	regs->known |= UINT32_C(1) << number;
	regs->initial &= ~(UINT32_C(1) << number);
	if (number == SW_ARCH_SP)
		regs->sp_avma = value;
	if (number == SW_ARCH_RA)
		regs->pc_avma = value;
}

static inline void sw_regs_forget(struct sw_regs *regs, unsigned number)
{
	if (number < SW_REGS_MAX)
		regs->known &= ~(UINT32_C(1) << number);
}

/* "rbp", "ebp"; static. Unknown numbers give "r?". */
const char *sw_arch_reg_name(bool is_32bit, unsigned number);

/* The register numbers that a function leaves as they were (psABI 1.0, figure 3.4; Intel386 psABI 1.1,
 * table 2.3), as a mask. */
uint32_t sw_arch_preserved(bool is_32bit);

/* The same of 64-bit Windows: Microsoft, "x64 calling convention". */
uint32_t sw_arch_preserved_windows(void);

/* The register that tables of call frame information have in a column; SW_REGS_MAX: none of ours. */
static inline unsigned sw_arch_reg_of_column(bool is_32bit, uint64_t column)
{
	/* Intel386 psABI 1.1, table 2.14: eax ecx edx ebx esp ebp esi edi, return address */
	static const uint8_t i386[] = {SW_X86_64_RAX, SW_X86_64_RCX, SW_X86_64_RDX,
				       SW_X86_64_RBX, SW_X86_64_RSP, SW_X86_64_RBP,
				       SW_X86_64_RSI, SW_X86_64_RDI, SW_X86_64_RA};
	uint64_t n = is_32bit ? sizeof(i386) : SW_REGS_MAX;
	if (column >= n)
		return SW_REGS_MAX;
	return is_32bit ? i386[column] : (unsigned) column;
}

/* The other way; -1 when the machine has no such register. */
static inline int sw_arch_column_of_reg(bool is_32bit, unsigned reg)
{
	for (unsigned column = is_32bit ? 0 : reg; column < SW_REGS_MAX; column++)
		if (sw_arch_reg_of_column(is_32bit, column) == reg)
			return (int) column;
	return -1;
}

/* The calls that may end before a return address: bits, since bytes can be read both ways. */
enum sw_call {
	SW_CALL_NONE = 0,     /* no CALL ends there */
	SW_CALL_DIRECT = 1,   /* CALL rel32: *ret_target_avma is where it goes */
	SW_CALL_INDIRECT = 2, /* CALL through a register or memory: the target is not known */
};

/* Decode the instruction that ends at return_avma, from memory. Bits of enum sw_call. */
unsigned sw_arch_call_before(struct sw_memory memory, uint64_t return_avma,
			     uint64_t *ret_target_avma);

/*
 * Whether it has led to pc_avma, of which nothing has run: by its displacement, or by the registers and the memory that
 * it called through, which are as it had them. regs are the thread's: sp is where the return address lies.
 */
bool sw_arch_call_led(struct sw_memory memory, const struct sw_regs *regs, uint64_t return_avma,
		      uint64_t pc_avma);

/* Whether it is a call through a word at a fixed place: that word's address. */
bool sw_arch_call_slot(struct sw_memory memory, uint64_t return_avma, uint64_t *ret_slot_avma);

/* A jump through memory, as PLT entries are: true and the address of the word that holds the
 * target. */
bool sw_arch_jump_slot(struct sw_memory memory, uint64_t avma, uint64_t *ret_slot_avma);

/*
 * An entry of a procedure linkage table that binds lazily has pushed the number of its relocation and goes on to the
 * table's first one, which pushes one word more and jumps to the dynamic linker.
 * Source: psABI 1.0, §5.2 (figure 5.2); lld 14 and GNU ld 2.40 make the same for programs of i386,
 * and for its position-independent code count from %ebx.
 * *ret_words: how many words lie above the return address. False: avma is at no such instruction.
 */
bool sw_arch_lazy_stub(struct sw_memory memory, uint64_t avma, unsigned *ret_words);

/* The same of i386's libraries, whose PLT entries count from the module's global offset table: true and the
 * distance of the word from that. */
bool sw_arch_jump_got(struct sw_memory memory, uint64_t avma, uint32_t *ret_off);

/* True when the byte before avma only fills a gap between functions (INT3): code begins at avma. */
bool sw_arch_padding_before(struct sw_memory memory, uint64_t avma);

/* The instruction at pc is RET: the return address is at [rsp], whatever came before. */
bool sw_arch_at_return(struct sw_memory memory, uint64_t pc_avma);

/* i386: in a function that only tells its caller the pc: mov (%esp),%REG; ret. */
bool sw_arch_is_pc_thunk(struct sw_memory memory, uint64_t pc_avma);

/* A pushed-and-set-up, or not yet or no longer set-up, frame pointer at pc: what the instructions at
 * pc say about where the return address is. */
enum sw_fp_place {
	SW_FP_IN_BODY,  /* [rbp], [rbp+8] hold the caller's */
	SW_FP_AT_ENTRY, /* nothing pushed yet or any more: return address at [rsp], rbp is the
			   caller's */
	SW_FP_PUSHED,   /* caller's rbp at [rsp], return address at [rsp+8] */
};
enum sw_fp_place sw_arch_fp_place(struct sw_memory memory, uint64_t pc_avma);

/* Code that is known by its instructions, because it never has, or often lacks, usable tables. */
enum sw_known_code {
	SW_CODE_UNKNOWN,
	SW_CODE_SIGRETURN,     /* the kernel's signal frame is at sp */
	SW_CODE_SIGRETURN_OLD, /* i386: that of a handler without SA_SIGINFO */
	SW_CODE_THREAD_START, /* nothing called it: the thread's, process's or coroutine's first code */
};

/*
 * @param code   Reads code; any address space as long as the addresses are of the same.
 * @param pc     The frame's pc (a return address, or exact).
 * @param entry  The program's entry point, 0 when not known.
 */
enum sw_known_code sw_arch_known_code(struct sw_memory code, uint64_t pc, uint64_t entry);

/* Whether pc, the next instruction of a thread or the CALL that a frame is in, is in code that begins a process, as
 * far as that is known by its instructions: its first, and all of the dynamic loader's. */
bool sw_arch_is_entry_code(struct sw_memory code, uint64_t pc, uint64_t entry);

/* Whether pc, a return address, is the first instruction of a function, which nothing calls: of
 * glibc's __start_context(). The code before it is another function. */
bool sw_arch_is_first_insn(struct sw_memory code, uint64_t pc);

/* Whether pc is the first instruction of a Boost.Context fiber: it pushes rbp, the return address of the
 * fiber's function, and jumps to that. */
bool sw_arch_is_fiber_start(struct sw_memory code, uint64_t pc);

/* Between the system call of clone() and the branch behind it there is no table that could hold for
 * both: the parent returns to its caller, the child has nothing on its stack. */
enum sw_clone_side {
	SW_CLONE_NONE,   /* not there */
	SW_CLONE_PARENT, /* the return address is at [rsp], the preserved registers hold */
	SW_CLONE_CHILD,  /* nothing called it: the thread's first code */
};
enum sw_clone_side sw_arch_clone_side(struct sw_memory code, uint64_t pc, uint64_t rax);

/* Where the kernel's signal frame keeps register number, from the sp of the trampoline's frame. */
unsigned sw_arch_sigframe_off(unsigned number);

/* The same of any trampoline; -1: it does not. */
int sw_arch_sigframe_place(enum sw_known_code code, bool is_32bit, unsigned number);

#endif
