/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Return addresses that the runtime has replaced to stop a thread for the garbage collector.
 *
 *	before       ... [slot: return address]
 *	pending      ... [slot: OnHijackTripThread]     the address is in the Thread object
 *	tripped      the method has returned to OnHijackTripThread(), which makes space with its first
 *	             push (the same slot) and saves what a method's caller may need; the address is put
 *	             into the slot by what it calls
 *
 * OnHijackTripThread() is not called but returned to, so that its own call frame information is one
 * word off. It has no symbol; it is known by its instructions, which are also what tells where its
 * pushes are. Source: dotnet/runtime v10.0.0, src/coreclr/vm/threadsuspend.cpp.
 */
#include "runtimes/clr/hijack.h"
#include "arch/arch.h"
#include "arch/x86_decode.h"
#include "bytes.h"
#include "runtimes/clr/threads.h"
#include "runtimes/clr/unwind.h"
#include "cfi/function.h"
#include "pe/function.h"
#include "runtimes/clr/code/ranges.h"

#include <string.h>

enum {
	CODE_BYTES = 128, /* it has 68 */
	PUSHES_MAX = 12,
	OFFSET_UNKNOWN = 0, /* in clr->hijacks: not that function */
};

/* The first instructions of the function: space, then the registers that are kept; and how it
 * passes where they are. Sources: dotnet/runtime v10.0.0, src/coreclr/vm/amd64/unixasmhelpers.S and
 * AsmHelpers.asm. */
enum { MOV_BYTES = 3 };
struct trip {
	const uint8_t *start;
	size_t bytes;
	uint8_t mov[MOV_BYTES];
};

static const uint8_t unix_start[] = {
	/* push rax, rbp, rbx, r15, r14, r13, r12 */
	0x50, 0x55, 0x53, 0x41, 0x57, 0x41, 0x56, 0x41, 0x55, 0x41, 0x54,
};
static const uint8_t windows_start[] = {
	/* mov %rsp, %rdx; push rax, rdx, r15, r14, r13, r12, rbp, rbx, rsi, rdi */
	0x48, 0x8b, 0xd4, 0x50, 0x52, 0x41, 0x57, 0x41, 0x56,
	0x41, 0x55, 0x41, 0x54, 0x55, 0x53, 0x56, 0x57,
};
static const struct trip trips[] = {
	{unix_start, sizeof(unix_start), {0x48, 0x89, 0xe7}},       /* mov %rsp, %rdi */
	{windows_start, sizeof(windows_start), {0x48, 0x8b, 0xcc}}, /* mov %rsp, %rcx */
};
enum { N_TRIPS = sizeof(trips) / sizeof(*trips) };

/* The stack as the instructions up to some offset leave it. */
struct stack {
	unsigned pushed[PUSHES_MAX]; /* DWARF numbers */
	size_t n;
	int64_t extra; /* bytes below the last push */
};

static bool is_trip_code(struct sw_bytes code)
{
	for (size_t i = 0; i < N_TRIPS; i++) {
		const struct trip *t = &trips[i];
		if (code.size >= t->bytes && memcmp(code.data, t->start, t->bytes) == 0 &&
		    memmem(code.data, code.size < 32 ? code.size : 32, t->mov, MOV_BYTES) != NULL)
			return true;
	}
	return false;
}

/* The length of one instruction, and what it does to the stack; 0: not one of those that the
 * function has. */
static size_t instruction(const uint8_t *c, struct stack *s)
{
	size_t prefix = c[0] == 0x41;
	uint8_t op = c[prefix];
	if (op >= 0x50 && op <= 0x57) {
		if (s->n == PUSHES_MAX)
			return 0;
		s->pushed[s->n++] = sw_x86_dwarf_number((op - 0x50U) + 8 * (unsigned) prefix);
		return prefix + 1;
	}
	if (op >= 0x58 && op <= 0x5f) {
		if (s->n == 0)
			return 0;
		s->n--;
		return prefix + 1;
	}
	for (size_t i = 0; i < N_TRIPS; i++)
		if (memcmp(c, trips[i].mov, MOV_BYTES) == 0)
			return MOV_BYTES;
	if (memcmp(c, windows_start, MOV_BYTES) == 0)
		return MOV_BYTES;
	if (memcmp(c, "\x48\x8d\x64\x24", 4) == 0) { /* lea disp8(%rsp), %rsp */
		s->extra -= (int8_t) c[4];
		return 5;
	}
	if (memcmp(c, "\x48\x83\xec", 3) == 0 || memcmp(c, "\x48\x83\xc4", 3) == 0) {
		s->extra += c[2] == 0xec ? (int8_t) c[3] : -(int8_t) c[3]; /* sub, add */
		return 4;
	}
	if (c[0] == 0x66 && c[1] == 0x0f && (c[2] == 0x7f || c[2] == 0x6f)) /* movdqa */
		return (c[3] >> 6 & 3) == 1 ? 6 : 5;
	if (c[0] == 0x0f && (c[1] == 0x29 || c[1] == 0x28)) /* movaps */
		return (c[2] >> 6 & 3) == 1 ? 5 : 4;
	return c[0] == 0xe8 ? 5 : 0;
}

/* The stack when the instruction at offset is the next one. */
static bool stack_at(struct sw_bytes code, size_t offset, struct stack *ret)
{
	size_t at = 0;
	*ret = (struct stack){0};
	while (at < offset && at + 8 <= code.size) {
		size_t length = instruction(code.data + at, ret);
		if (length == 0)
			return false;
		at += length;
	}
	return at == offset;
}

bool sw_clr_hijack_undo(struct sw_clr *clr, struct sw_memory memory, struct sw_regs *regs)
{
	uint8_t code[32];
	uint64_t real;
	if (!sw_clr_is_runtime(clr, sw_snapshot_place(clr->snap, regs->pc_avma)) ||
	    !sw_memory_read(clr->memory, regs->pc_avma, code, sizeof(code)) ||
	    !is_trip_code((struct sw_bytes){code, sizeof(code)}))
		return true;
	if (!sw_clr_hijacked_find(clr, memory, regs->sp_avma - SW_ARCH_WORD, &real))
		return false;
	sw_regs_set(regs, SW_ARCH_RA, real);
	return true;
}

static bool trip_at(struct sw_clr *clr, uint64_t start_avma, uint8_t code[CODE_BYTES])
{
	return sw_memory_read(clr->memory, start_avma, code, CODE_BYTES) &&
	       is_trip_code((struct sw_bytes){code, CODE_BYTES});
}

/* The start of the native function that the cursor is in. */
static bool function_start(struct sw_clr *clr, const struct sw_cursor *cursor, uint64_t *ret_avma)
{
	const struct sw_place *place = cursor->place;
	struct sw_pe_code code;
	if (sw_module_kind(place->module) == SW_MODULE_PE) {
		if (!sw_pe_code_at(clr->memory, place, cursor->lookup_avma, &code) ||
		    !code.has_entry)
			return false;
		*ret_avma = code.start_avma;
		return true;
	}
	struct sw_elf_cfi *cfi = sw_elf_cfi_get(place->module);
	if (cfi == NULL || !sw_elf_function_start(cfi, cursor->lookup_avma - place->bias, ret_avma))
		return false;
	*ret_avma += place->bias;
	return true;
}

/*
 * How far behind the function's start pc is; false when it is in another one. Remembered. A native
 * function returns to the very start when a method that was hijacked has ended with a jump to it.
 */
static bool trip_offset(struct sw_clr *clr, const struct sw_cursor *cursor,
			uint8_t code[CODE_BYTES], size_t *ret)
{
	uint64_t pc = cursor->regs.pc_avma, key = pc << 1 | cursor->exact_pc, kept, start;
	if (sw_map64_get(&clr->hijacks, key, &kept)) {
		*ret = (size_t) kept - 1;
		return kept != OFFSET_UNKNOWN && trip_at(clr, pc - *ret, code);
	}
	kept = OFFSET_UNKNOWN;
	if (!cursor->exact_pc && trip_at(clr, pc, code))
		kept = 1;
	else if (function_start(clr, cursor, &start) && pc - start < CODE_BYTES &&
		 trip_at(clr, start, code))
		kept = pc - start + 1;
	(void) sw_map64_put(&clr->hijacks, key, kept); /* lost: it is looked up again */
	*ret = (size_t) kept - 1;
	return kept != OFFSET_UNKNOWN;
}

enum sw_step sw_clr_hijack_step(struct sw_clr *clr, struct sw_cursor *cursor,
				struct sw_stepped *ret)
{
	uint8_t code[CODE_BYTES];
	size_t offset;
	struct stack stack;
	if (!sw_clr_is_runtime(clr, cursor->place) || !trip_offset(clr, cursor, code, &offset) ||
	    !stack_at((struct sw_bytes){code, sizeof(code)}, offset, &stack))
		return SW_STEP_DECLINE;
	/* sp as it was when the function was returned to; the word below it is the slot. */
	uint64_t top = cursor->regs.sp_avma + SW_ARCH_WORD * stack.n + (uint64_t) stack.extra;
	uint64_t slot = top - SW_ARCH_WORD, pc, word;
	ret->regs = cursor->regs;
	uint32_t preserved = sw_clr_preserved(clr);
	ret->regs.known &= preserved;
	for (size_t i = 1; i < stack.n; i++)
		if ((preserved >> stack.pushed[i] & 1) &&
		    sw_memory_u64(cursor->memory, top - SW_ARCH_WORD * (i + 1), &word))
			sw_regs_set(&ret->regs, stack.pushed[i], word);
	const struct sw_clr_code *found = NULL;
	if (sw_memory_u64(cursor->memory, slot, &pc))
		found = sw_clr_code_find(clr, pc);
	/* Not put there yet, or no more: then it is still in the Thread object. */
	if ((found == NULL || found->kind == SW_CLR_CODE_STUB) &&
	    !sw_clr_hijacked_find(clr, cursor->memory, slot, &pc)) {
		ret->end = SW_END_BAD_UNWIND_INFO;
		ret->why = "the runtime has replaced the return address, and where it was kept is "
			   "not known";
		return SW_STEP_FAIL;
	}
	/* At its start it has no frame yet: the stack need not go on. */
	ret->other_stack = top == cursor->regs.sp_avma;
	sw_regs_set(&ret->regs, SW_ARCH_SP, top);
	sw_regs_set(&ret->regs, SW_ARCH_RA, pc);
	return SW_STEP_OK;
}
