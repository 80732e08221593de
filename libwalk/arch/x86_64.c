/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * x86-64: registers, the few instructions we look at, and code that is known by its bytes. It
 * serves 32-bit programs, too; i386.c has what differs. Source of encodings: Intel SDM volume 2
 * (2023), CALL, JMP, PUSH, POP, RET, ENDBR64, and chapter 2 for ModRM and SIB.
 */
#include "arch/arch.h"
#include "arch/i386.h"
#include "arch/insn.h"
#include "cleanup.h"
#include "arch/x86_decode.h"

#include <string.h>

const char *sw_arch_reg_name(bool is_32bit, unsigned number)
{
	if (is_32bit)
		return sw_i386_reg_name(number);
	static const char *const names[SW_REGS_MAX] = {
		"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
		"r9",  "r10", "r11", "r12", "r13", "r14", "r15", "ra",
	};
	return number < SW_ARRAY_SIZE(names) ? names[number] : "r?";
}

uint32_t sw_arch_preserved(bool is_32bit)
{
	if (is_32bit)
		return UINT32_C(1) << SW_X86_64_RBX | UINT32_C(1) << SW_X86_64_RBP |
		       UINT32_C(1) << SW_X86_64_RSI | UINT32_C(1) << SW_X86_64_RDI;
	return UINT32_C(1) << SW_X86_64_RBX | UINT32_C(1) << SW_X86_64_RBP | UINT32_C(0xf000);
}

uint32_t sw_arch_preserved_windows(void)
{
	return sw_arch_preserved(false) | UINT32_C(1) << SW_X86_64_RSI |
	       UINT32_C(1) << SW_X86_64_RDI;
}

/* Bytes after ModRM that belong to it: SIB and displacement. */
static size_t modrm_tail(uint8_t modrm, uint8_t sib)
{
	unsigned mod = modrm >> 6, rm = modrm & 7;
	if (mod == 3)
		return 0;
	size_t tail = rm == 4 ? 1 : 0;
	if (mod == 1)
		return tail + 1;
	if (mod == 2)
		return tail + 4;
	bool disp32 = rm == 5 || (rm == 4 && (sib & 7) == 5);
	return disp32 ? tail + 4 : tail;
}

/* FF /2 that ends exactly at the end of code (SW_ARCH_CALL_MAX bytes). Prefixes lie before it. */
static bool indirect_call_ends(const uint8_t code[SW_ARCH_CALL_MAX])
{
	for (size_t length = 2; length <= SW_ARCH_CALL_MAX; length++) {
		const uint8_t *at = code + SW_ARCH_CALL_MAX - length;
		if (at[0] != 0xff || ((at[1] >> 3) & 7) != 2)
			continue;
		uint8_t sib = length > 2 ? at[2] : 0;
		if (2 + modrm_tail(at[1], sib) == length)
			return true;
	}
	return false;
}

unsigned sw_arch_call_before(struct sw_memory memory, uint64_t return_avma,
			     uint64_t *ret_target_avma)
{
	uint8_t code[SW_ARCH_CALL_MAX];
	if (return_avma < SW_ARCH_CALL_MAX ||
	    !sw_memory_read(memory, return_avma - SW_ARCH_CALL_MAX, code, sizeof(code)))
		return SW_CALL_NONE;
	unsigned found = indirect_call_ends(code) ? SW_CALL_INDIRECT : SW_CALL_NONE;
	if (code[SW_ARCH_CALL_MAX - 5] == 0xe8) {
		int32_t displacement;
		memcpy(&displacement, code + SW_ARCH_CALL_MAX - 4, sizeof(displacement));
		*ret_target_avma =
			sw_memory_wrap(memory, return_avma + (uint64_t) (int64_t) displacement);
		found |= SW_CALL_DIRECT;
	}
	return found;
}

/* A register by its number in instructions. */
static bool operand_reg(const struct sw_regs *regs, unsigned number, uint64_t *ret)
{
	return sw_regs_get(regs, sw_x86_dwarf_number(number), ret);
}

/* Where the operand of an instruction lies: its ModRM byte and what follows; rex is its prefix, 0 when it has
 * none. next_avma is behind it. */
static bool operand_avma(const struct sw_regs *regs, const uint8_t *modrm, uint8_t rex,
			 uint64_t next_avma, uint64_t *ret)
{
	unsigned mod = modrm[0] >> 6, rm = modrm[0] & 7, base = rm, b = (rex & 1U) << 3;
	const uint8_t *at = modrm + 1;
	uint64_t sum = 0, index = 0;
	if (rm == 4) { /* SIB */
		unsigned i = ((at[0] >> 3) & 7) | (rex & 2U) << 2;
		base = at[0] & 7;
		if (i != 4 && !operand_reg(regs, i, &index))
			return false;
		sum = index << (at[0] >> 6);
		at++;
	}
	uint64_t start = 0;
	bool wide = mod == 2 || (mod == 0 && base == 5);
	if (mod == 0 && rm == 5)
		start = next_avma;
	else if (!(mod == 0 && base == 5) && !operand_reg(regs, base | b, &start))
		return false;
	int32_t displacement = mod == 1 ? (int8_t) at[0] : 0;
	if (wide)
		memcpy(&displacement, at, sizeof(displacement));
	*ret = start + sum + (uint64_t) (int64_t) displacement;
	return true;
}

/* code is a call through a register or memory, FF /2, that ends at next_avma. */
static bool indirect_led(struct sw_memory memory, const struct sw_regs *regs, const uint8_t *code,
			 uint8_t rex, uint64_t next_avma, uint64_t pc_avma)
{
	uint64_t where, target;
	if (code[1] >> 6 == 3)
		return operand_reg(regs, (code[1] & 7U) | (rex & 1U) << 3, &target) &&
		       target == pc_avma;
	return operand_avma(regs, code + 1, rex, next_avma, &where) &&
	       sw_memory_u64(memory, where, &target) && target == pc_avma;
}

bool sw_arch_call_led(struct sw_memory memory, const struct sw_regs *regs, uint64_t return_avma,
		      uint64_t pc_avma)
{
	uint8_t code[1 + SW_ARCH_CALL_MAX];
	uint64_t target;
	if ((sw_arch_call_before(memory, return_avma, &target) & SW_CALL_DIRECT) &&
	    target == pc_avma)
		return true;
	if (return_avma < sizeof(code) ||
	    !sw_memory_read(memory, return_avma - sizeof(code), code, sizeof(code)))
		return false;
	struct sw_regs before = *regs;
	sw_regs_set(&before, SW_ARCH_SP, regs->sp_avma + SW_ARCH_WORD);
	for (size_t length = 2; length <= SW_ARCH_CALL_MAX; length++) {
		const uint8_t *at = code + sizeof(code) - length;
		if (at[0] != 0xff || ((at[1] >> 3) & 7) != 2 ||
		    2 + modrm_tail(at[1], length > 2 ? at[2] : 0) != length)
			continue;
		/* The byte before may be a prefix, or the end of another instruction. */
		uint8_t rex = (at[-1] & 0xf0) == 0x40 ? at[-1] : 0;
		if (indirect_led(memory, &before, at, rex, return_avma, pc_avma) ||
		    (rex != 0 && indirect_led(memory, &before, at, 0, return_avma, pc_avma)))
			return true;
	}
	return false;
}

bool sw_arch_call_slot(struct sw_memory memory, uint64_t return_avma, uint64_t *ret_slot_avma)
{
	/* call *disp32(%rip) */
	uint8_t code[6];
	int32_t displacement;
	if (return_avma < sizeof(code) ||
	    !sw_memory_read(memory, return_avma - sizeof(code), code, sizeof(code)) ||
	    code[0] != 0xff || code[1] != 0x15)
		return false;
	if (sw_memory_is_32bit(memory))
		return sw_i386_slot(code, 0x15, ret_slot_avma);
	memcpy(&displacement, code + 2, sizeof(displacement));
	*ret_slot_avma = return_avma + (uint64_t) (int64_t) displacement;
	return true;
}

/* The last byte is fa for 64-bit code, fb for 32-bit code; each does nothing in the other. */
enum { ENDBR_BYTES = 4 };

static bool is_endbr(const uint8_t *code)
{
	return code[0] == 0xf3 && code[1] == 0x0f && code[2] == 0x1e &&
	       (code[3] == 0xfa || code[3] == 0xfb);
}

bool sw_arch_jump_slot(struct sw_memory memory, uint64_t avma, uint64_t *ret_slot_avma)
{
	/* [endbr] [bnd] jmp *disp32(%rip); of 32-bit code jmp *disp32 */
	uint8_t code[12];
	if (!sw_memory_read(memory, avma, code, sizeof(code)))
		return false;
	size_t at = is_endbr(code) ? ENDBR_BYTES : 0;
	if (code[at] == 0xf2)
		at++;
	if (code[at] != 0xff || code[at + 1] != 0x25)
		return false;
	if (sw_memory_is_32bit(memory))
		return sw_i386_slot(code + at, 0x25, ret_slot_avma);
	int32_t displacement;
	memcpy(&displacement, code + at + 2, sizeof(displacement));
	*ret_slot_avma = avma + at + 6 + (uint64_t) (int64_t) displacement;
	return true;
}

enum { PUSH_SLOT_BYTES = 6, PUSH_NUMBER_BYTES = 5 };

static bool is_push_slot(const uint8_t *code)
{
	return code[0] == 0xff && (code[1] == 0x35 || code[1] == 0xb3);
}

static bool is_jump_slot(const uint8_t *code)
{
	return code[0] == 0xff && (code[1] == 0x25 || code[1] == 0xa3);
}

bool sw_arch_lazy_stub(struct sw_memory memory, uint64_t avma, unsigned *ret_words)
{
	/* push number; jmp first; and of the first one push *slot; jmp *slot: %rip or nothing, and %ebx */
	uint8_t code[PUSH_SLOT_BYTES + 2];
	if (sw_memory_read(memory, avma, code, PUSH_SLOT_BYTES + 2)) {
		if (is_push_slot(code) && is_jump_slot(code + PUSH_SLOT_BYTES)) {
			*ret_words = 1;
			return true;
		}
		if (code[0] == 0x68 && code[PUSH_NUMBER_BYTES] == 0xe9) {
			*ret_words = 0;
			return true;
		}
	}
	if (avma >= PUSH_SLOT_BYTES &&
	    sw_memory_read(memory, avma - PUSH_SLOT_BYTES, code, PUSH_SLOT_BYTES + 2)) {
		if (is_push_slot(code) && is_jump_slot(code + PUSH_SLOT_BYTES)) {
			*ret_words = 2;
			return true;
		}
		if (code[PUSH_SLOT_BYTES - PUSH_NUMBER_BYTES] == 0x68 &&
		    code[PUSH_SLOT_BYTES] == 0xe9) {
			*ret_words = 1;
			return true;
		}
	}
	return false;
}

bool sw_arch_jump_got(struct sw_memory memory, uint64_t avma, uint32_t *ret_off)
{
	/* [endbr32] jmp *disp32(%ebx) */
	uint8_t code[12];
	if (!sw_memory_is_32bit(memory) || !sw_memory_read(memory, avma, code, sizeof(code)))
		return false;
	size_t at = is_endbr(code) ? ENDBR_BYTES : 0;
	if (code[at] != 0xff || code[at + 1] != 0xa3)
		return false;
	memcpy(ret_off, code + at + 2, sizeof(*ret_off));
	return true;
}

bool sw_arch_padding_before(struct sw_memory memory, uint64_t avma)
{
	uint8_t code;
	return avma > 0 && sw_memory_read(memory, avma - 1, &code, 1) && code == 0xcc;
}

static bool is_ret(const uint8_t *code)
{
	/* ret; ret imm16; rep ret; bnd ret */
	return code[0] == 0xc3 || code[0] == 0xc2 ||
	       ((code[0] == 0xf3 || code[0] == 0xf2) && code[1] == 0xc3);
}

bool sw_arch_at_return(struct sw_memory memory, uint64_t pc_avma)
{
	uint8_t code[2] = {0};
	return (sw_memory_read(memory, pc_avma, code, sizeof(code)) ||
		sw_memory_read(memory, pc_avma, code, 1)) &&
	       is_ret(code);
}

bool sw_arch_is_pc_thunk(struct sw_memory memory, uint64_t pc_avma)
{
	enum { MOV_BYTES = 3, BYTES = 4, REG_BITS = 0x38 };
	uint8_t code[BYTES];
	for (uint64_t back = 0; sw_memory_is_32bit(memory) && back <= MOV_BYTES; back += MOV_BYTES)
		if (sw_memory_read(memory, pc_avma - back, code, sizeof(code)) && code[0] == 0x8b &&
		    (code[1] & ~REG_BITS) == 0x04 && code[2] == 0x24 && code[3] == 0xc3)
			return true;
	return false;
}

enum sw_fp_place sw_arch_fp_place(struct sw_memory memory, uint64_t pc_avma)
{
	uint8_t code[8];
	if (!sw_memory_read(memory, pc_avma, code, sizeof(code)))
		return SW_FP_IN_BODY;
	const uint8_t *at = code;
	if (is_endbr(at))
		at += ENDBR_BYTES;
	if (at[0] == 0x55 || is_ret(code)) /* push %rbp */
		return SW_FP_AT_ENTRY;
	bool mov_rsp_rbp = sw_memory_is_32bit(memory)
				   ? sw_i386_sets_fp(code)
				   : code[0] == 0x48 && ((code[1] == 0x89 && code[2] == 0xe5) ||
							 (code[1] == 0x8b && code[2] == 0xec));
	if (mov_rsp_rbp || (code[0] == 0x5d && is_ret(code + 1))) /* pop %rbp; ret */
		return SW_FP_PUSHED;
	return SW_FP_IN_BODY;
}

/* mov $__NR_rt_sigreturn,%rax; syscall. The kernel requires no form, but every C library writes this
 * one, and gdb and libgcc know it by it: glibc 2.36 libc_sigaction.c, musl 1.2.3 x86_64/restore.s. */
static bool is_sigreturn(struct sw_memory code, uint64_t pc)
{
	static const uint8_t trampoline[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	uint8_t bytes[sizeof(trampoline)];
	return sw_memory_read(code, pc, bytes, sizeof(bytes)) &&
	       memcmp(bytes, trampoline, sizeof(trampoline)) == 0;
}

/* musl 1.2.3 src/thread/x86_64/clone.s, which has no or wrong CFI: the child's first call, and that
 * the thread exits when it returns. */
static bool is_musl_clone(struct sw_memory code, uint64_t pc)
{
	static const uint8_t sequence[] = {
		0x31, 0xed,       /* xor %ebp,%ebp */
		0x5f,             /* pop %rdi */
		0x41, 0xff, 0xd1, /* call *%r9 */
		0x89, 0xc7,       /* mov %eax,%edi   <- pc */
		0x31, 0xc0,       /* xor %eax,%eax */
		0xb0, 0x3c,       /* mov $__NR_exit,%al */
		0x0f, 0x05,       /* syscall */
	};
	uint8_t bytes[sizeof(sequence)];
	return pc >= 6 && sw_memory_read(code, pc - 6, bytes, sizeof(bytes)) &&
	       memcmp(bytes, sequence, sizeof(sequence)) == 0;
}

/* xor %ebp,%ebp or xor %rbp,%rbp: the bytes, 0 when it is not. */
static size_t clears_rbp(const uint8_t *bytes)
{
	size_t prefix = bytes[0] == 0x48;
	return bytes[prefix] == 0x31 && bytes[prefix + 1] == 0xed ? prefix + 2 : 0;
}

/*
 * pc is in the entry code of glibc's dynamic loader, which calls _dl_start() and _dl_init() and has no
 * tables: from its first instruction to the jump to the program, which is the only one. The loader calls
 * constructors of libraries and the program's DT_PREINIT_ARRAY.
 * Source: RTLD_START in glibc 2.31 to 2.41, sysdeps/x86_64/dl-machine.h.
 */
static bool is_loader_entry(struct sw_memory code, uint64_t pc, uint64_t entry)
{
	static const uint8_t start[] = {0x48, 0x89, 0xe7, 0xe8}; /* mov %rsp,%rdi; call _dl_start */
	static const uint8_t clear_and_call[] = {0x31, 0xed,
						 0xe8};    /* xor %ebp,%ebp; call _dl_init */
	static const uint8_t leave[] = {0x41, 0xff, 0xe4}; /* jmp *%r12 */
	uint8_t bytes[SW_ARCH_ENTRY_MAX];
	if (entry == 0 || pc < entry || pc - entry >= sizeof(bytes) ||
	    !sw_memory_read(code, entry, bytes, sizeof(bytes)) ||
	    memcmp(bytes, start, sizeof(start)) != 0)
		return false;
	bool cleared = false;
	for (size_t at = sizeof(start); at + sizeof(leave) <= sizeof(bytes); at++) {
		cleared |= memcmp(bytes + at, clear_and_call, sizeof(clear_and_call)) == 0;
		if (memcmp(bytes + at, leave, sizeof(leave)) == 0)
			return cleared && pc - entry <= at;
	}
	return false;
}

/* pc is the first instruction of a process's entry code, which clears rbp, as psABI 1.0, §3.4.1 says. */
static bool is_entry(struct sw_memory code, uint64_t pc, uint64_t entry)
{
	uint8_t bytes[ENDBR_BYTES + 3];
	if (entry == 0 || pc != entry || !sw_memory_read(code, entry, bytes, sizeof(bytes)))
		return false;
	size_t at = is_endbr(bytes) ? ENDBR_BYTES : 0;
	return clears_rbp(bytes + at) != 0;
}

bool sw_arch_is_entry_code(struct sw_memory code, uint64_t pc, uint64_t entry)
{
	return is_entry(code, pc, entry) || is_loader_entry(code, pc, entry);
}

/* Whether code that runs from bytes + at comes to its end, and has cleared rbp on the way. */
static bool runs_and_clears_rbp(bool is_32bit, const uint8_t *bytes, size_t at, size_t size)
{
	bool cleared = false;
	while (at < size) {
		struct sw_insn insn;
		if (!sw_arch_insn(is_32bit, bytes + at, size - at, at, &insn))
			return false;
		cleared |= size - at >= 3 && clears_rbp(bytes + at) != 0;
		at += insn.length;
		switch (insn.op) {
		case SW_INSN_JUMP:
			if (insn.target < at || insn.target > size)
				return false;
			at = (size_t) insn.target;
			break;
		case SW_INSN_JUMP_FAR:
		case SW_INSN_RETURN:
		case SW_INSN_STOP: return false;
		default: break;
		}
	}
	return at == size && cleared;
}

/*
 * pc is where the call of a process's entry code returns to. The entry code must clear rbp, "to mark
 * the deepest stack frame" (psABI 1.0, §3.4.1): first, or later (Free Pascal 3.2.2
 * rtl/linux/x86_64/si_prc.inc, Linux 6.1 tools/include/nolibc/nolibc.h). A call in a function that merely
 * follows the entry code, which ends in a jump or in an instruction that stops, must not pass for it.
 */
static bool is_entry_call(struct sw_memory code, uint64_t pc, uint64_t entry)
{
	uint8_t bytes[SW_ARCH_ENTRY_MAX];
	if (entry == 0 || pc < entry || pc - entry > sizeof(bytes) || pc - entry < 7)
		return false;
	size_t size = (size_t) (pc - entry);
	if (!sw_memory_read(code, entry, bytes, size))
		return false;
	size_t at = is_endbr(bytes) ? ENDBR_BYTES : 0;
	if (!runs_and_clears_rbp(sw_memory_is_32bit(code), bytes, at, size))
		return false;
	for (; at + 5 < size; at++) {
		int32_t displacement;
		memcpy(&displacement, bytes + at + 1, sizeof(displacement));
		if (bytes[at] == 0xe8 && displacement >= 0 && at + 5 + (size_t) displacement < size)
			return false;
	}
	uint64_t target;
	return sw_arch_call_before(code, pc, &target) != SW_CALL_NONE;
}

/*
 * pc is where glibc's makecontext() makes a coroutine's function return to: the start of
 * __start_context. glibc 2.36 sysdeps/unix/sysv/linux/x86_64/__start_context.S; built for shadow stacks,
 * it looks for those first.
 */
static bool is_start_context(struct sw_memory code, uint64_t pc)
{
	static const uint8_t rsp_from_rbx[] = {0x48, 0x89, 0xdc};
	static const uint8_t next_is_zero[] = {0x48, 0x8b, 0x3c, 0x24, /* mov (%rsp),%rdi */
					       0x48, 0x85, 0xff,       /* test %rdi,%rdi */
					       0x74, 0x08, 0xe8};      /* je; call setcontext */
	static const uint8_t has_shadow[] = {0x64, 0xf7, 0x04, 0x25, 0x48, 0, 0,
					     0,    0x02, 0,    0,    0}; /* testl $2,%fs:0x48 */
	uint8_t bytes[sizeof(rsp_from_rbx) + sizeof(has_shadow)];
	if (!sw_memory_read(code, pc, bytes, sizeof(bytes)) ||
	    memcmp(bytes, rsp_from_rbx, sizeof(rsp_from_rbx)) != 0)
		return false;
	const uint8_t *at = bytes + sizeof(rsp_from_rbx);
	return memcmp(at, next_is_zero, sizeof(next_is_zero)) == 0 ||
	       memcmp(at, has_shadow, sizeof(has_shadow)) == 0;
}

/*
 * The first code of a Boost.Context fiber. Its function returns to "finish", behind the code that pushed that
 * address. Boost 1.74 libs/context/src/asm/make_x86_64_sysv_elf_gas.S.
 */
static bool is_fcontext_start(struct sw_memory code, uint64_t pc, size_t off)
{
	static const uint8_t start[] = {0x55,             /* push %rbp */
					0xff, 0xe3,       /* jmp *%rbx */
					0x48, 0x31, 0xff, /* xor %rdi,%rdi   <- finish */
					0xe8};            /* call _exit */
	enum { CALL_BYTES = 5, HLT = 0xf4 };
	uint8_t bytes[sizeof(start) - 1 + CALL_BYTES + 1];
	return pc >= off && sw_memory_read(code, pc - off, bytes, sizeof(bytes)) &&
	       memcmp(bytes, start, sizeof(start)) == 0 && bytes[sizeof(bytes) - 1] == HLT;
}

/* pc is in "finish": where the function returned to, at its call, or where that returns to. */
static bool is_fcontext_finish(struct sw_memory code, uint64_t pc)
{
	return is_fcontext_start(code, pc, 3) || is_fcontext_start(code, pc, 6) ||
	       is_fcontext_start(code, pc, 11);
}

bool sw_arch_is_fiber_start(struct sw_memory code, uint64_t pc)
{
	return is_fcontext_start(code, pc, 0);
}

bool sw_arch_is_first_insn(struct sw_memory code, uint64_t pc)
{
	return !sw_memory_is_32bit(code) && is_start_context(code, pc);
}

enum sw_known_code sw_arch_known_code(struct sw_memory code, uint64_t pc, uint64_t entry)
{
	if (sw_memory_is_32bit(code)) {
		enum sw_known_code known = sw_i386_sigreturn(code, pc);
		return known == SW_CODE_UNKNOWN && is_entry_call(code, pc, entry)
			       ? SW_CODE_THREAD_START
			       : known;
	}
	if (is_sigreturn(code, pc))
		return SW_CODE_SIGRETURN;
	if (is_musl_clone(code, pc) || is_start_context(code, pc) || is_fcontext_finish(code, pc) ||
	    is_entry_call(code, pc, entry))
		return SW_CODE_THREAD_START;
	return SW_CODE_UNKNOWN;
}

/*
 * glibc 2.36 sysdeps/unix/sysv/linux/x86_64/clone.S and clone3.S end the table before the system
 * call and begin it again at the child's first instruction ("the child needs to have undefined
 * RIP"). pc may be at each of the instructions between; jumps are short or near.
 */
enum sw_clone_side sw_arch_clone_side(struct sw_memory code, uint64_t pc, uint64_t rax)
{
	enum { SYSCALL, TEST, JL, JE, RET, N };
	if (sw_memory_is_32bit(code))
		return SW_CLONE_NONE;
	for (unsigned form = 0; form < 4; form++) {
		bool near_jl = form & 1, near_je = form & 2;
		const size_t length[N] = {2, 3, near_jl ? 6 : 2, near_je ? 6 : 2, 1};
		size_t size = 0, begin[N];
		uint8_t bytes[18];
		for (int i = SYSCALL; i < N; i++) {
			begin[i] = size;
			size += length[i];
		}
		for (int i = SYSCALL; i < N; i++) {
			if (!sw_memory_read(code, pc - begin[i], bytes, size) ||
			    memcmp(bytes, "\x0f\x05\x48\x85\xc0", 5) != 0 ||
			    memcmp(bytes + begin[JL], near_jl ? "\x0f\x8c" : "\x7c",
				   near_jl + 1U) ||
			    memcmp(bytes + begin[JE], near_je ? "\x0f\x84" : "\x74",
				   near_je + 1U) ||
			    bytes[begin[RET]] != 0xc3)
				continue;
			return i != SYSCALL && i != RET && rax == 0 ? SW_CLONE_CHILD
								    : SW_CLONE_PARENT;
		}
	}
	return SW_CLONE_NONE;
}

/*
 * At rt_sigreturn sp points at the kernel's struct ucontext: uc_flags, uc_link, uc_stack (40 bytes),
 * then struct sigcontext_64. Source: Linux 6.1, arch/x86/include/uapi/asm/{ucontext,sigcontext}.h.
 */
unsigned sw_arch_sigframe_off(unsigned number)
{
	static const uint8_t words[SW_REGS_MAX] = {
		[SW_X86_64_R8] = 0,
		1,
		2,
		3,
		4,
		5,
		6,
		7, /* r8 to r15 */
		[SW_X86_64_RDI] = 8,
		[SW_X86_64_RSI] = 9,
		[SW_X86_64_RBP] = 10,
		[SW_X86_64_RBX] = 11,
		[SW_X86_64_RDX] = 12,
		[SW_X86_64_RAX] = 13,
		[SW_X86_64_RCX] = 14,
		[SW_X86_64_RSP] = 15,
		[SW_X86_64_RA] = 16,
	};
	return 40 + 8U * words[number < SW_REGS_MAX ? number : 0];
}

int sw_arch_sigframe_place(enum sw_known_code code, bool is_32bit, unsigned number)
{
	return is_32bit ? sw_i386_sigframe_place(code, number) : (int) sw_arch_sigframe_off(number);
}
