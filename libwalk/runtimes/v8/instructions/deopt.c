/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The builtin that a deoptimisation enters (V8 10.2 to 14.6 for x86-64):
 *
 *	sub  $0x100, %rsp             registers are saved below the return address
 *	push %rax ... push %r15
 *	mov  %rsp, %r10               sp is saved, and aligned
 *	sub  $8, %rsp
 *	and  $-16, %rsp
 *	mov  %r10, (%rsp)
 *	call *%rax                    Deoptimizer::New
 *	mov  input(%rax), %rbx
 *	...
 *	mov  size(%rbx), %rcx         the frame's words are popped into the object
 *	lea  content(%rbx), %rdx
 *	...
 *	push %rax
 *	mov  %rsp, %r10               as above
 *	call *%rax                    Deoptimizer::ComputeOutputFrames
 *
 * Source: src/builtins/x64/builtins-x64.cc, Generate_DeoptimizationEntry.
 */
#include "runtimes/v8/instructions/deopt.h"
#include "arch/arch.h"
#include "arch/insn.h"

enum {
	FRAME_BYTES_MAX = 1 << 20,
	TOP_BYTES = 2048,   /* of a frame: arguments, and what its callee keeps for the caller */
	ALIGNED_BYTES = 16, /* what the alignment of sp can take, with the word that has sp */
	RAX = 0,
	RCX = 1,
	RDX = 2,
	RBX = 3,
	MOV = 0x8b,
	LEA = 0x8d,
};

/* An instruction with a 64-bit register and an operand value bytes behind what base points to. Numbers are those of
 * the encoding. */
static bool has_operand(struct sw_bytes code, uint64_t at, uint8_t opcode, uint8_t reg,
			uint8_t base, uint32_t *ret)
{
	enum { REX_W = 0x48, SHORT = 1, LONG = 2 };
	uint8_t b[3], value = 0;
	if (!sw_bytes_copy(code, at, b, sizeof(b)) || b[0] != REX_W || b[1] != opcode ||
	    (b[2] >> 3 & 7) != reg || (b[2] & 7) != base || b[2] >> 6 > LONG)
		return false;
	if (b[2] >> 6 == LONG)
		return sw_bytes_u32(code, at + sizeof(b), ret);
	if (b[2] >> 6 == SHORT && !sw_bytes_copy(code, at + sizeof(b), &value, 1))
		return false;
	*ret = value;
	return true;
}

/* The two calls and what lies on the stack at the first one. */
struct reading {
	int64_t offset, saved; /* of the return address from sp; the same when sp was saved */
	bool has_input, has_size, has_content;
};

static void stack_note(struct sw_bytes code, uint64_t at, const struct sw_insn *i,
		       struct reading *r, struct sw_v8_deopt *d)
{
	struct sw_move move;
	if (i->op == SW_INSN_PUSH)
		r->offset += 8;
	else if (i->op == SW_INSN_SP_ADD)
		r->offset -= i->value;
	else if (i->op == SW_INSN_SP_AND && r->saved > 0)
		d->return_off = (uint32_t) r->saved;
	else if (i->op == SW_INSN_CALL)
		d->begin_off = (uint32_t) (at + i->length);
	else if (sw_arch_move(code.data + at, code.size - at, at, &move) &&
		 move.op == SW_MOVE_COPY && move.from == SW_ARCH_SP && move.value == 0)
		r->saved = r->offset;
}

static void object_note(struct sw_bytes code, uint64_t at, struct reading *r, struct sw_v8_deopt *d)
{
	if (!r->has_input)
		r->has_input = has_operand(code, at, MOV, RBX, RAX, &d->input_off);
	else if (!r->has_size)
		r->has_size = has_operand(code, at, MOV, RCX, RBX, &d->size_off);
	else if (!r->has_content)
		r->has_content = has_operand(code, at, LEA, RDX, RBX, &d->content_off);
}

bool sw_v8_deopt_read(struct sw_bytes code, struct sw_v8_deopt *ret)
{
	struct reading r = {0};
	struct sw_v8_deopt d = {0};
	struct sw_insn i;
	for (uint64_t at = 0; at < code.size; at += i.length) {
		if (!sw_arch_insn(false, code.data + at, code.size - at, at, &i))
			return false;
		if (d.begin_off == 0)
			stack_note(code, at, &i, &r, &d);
		else if (i.op == SW_INSN_CALL && r.has_content) {
			d.compute_off = (uint32_t) (at + i.length);
			*ret = d;
			return d.return_off != 0;
		} else
			object_note(code, at, &r, &d);
	}
	return false;
}

/* sp as it was before it was aligned, which lies there. */
static bool saved_sp(struct sw_memory stack, uint64_t sp, uint64_t *ret)
{
	return sw_memory_u64(stack, sp, ret) && *ret > sp && *ret - sp <= ALIGNED_BYTES &&
	       *ret % 8 == 0;
}

bool sw_v8_deopt_object(struct sw_memory stack, uint64_t sp, uint64_t *ret_avma)
{
	uint64_t saved;
	return saved_sp(stack, sp, &saved) && sw_memory_u64(stack, saved, ret_avma);
}

/* The words of the frame: where they are, and for how many bytes. */
static bool content_of(const struct sw_v8_deopt *d, struct sw_memory heap,
		       uint64_t deoptimizer_avma, uint64_t *ret_avma, uint64_t *ret_bytes)
{
	uint64_t input, bytes;
	if (!sw_memory_u64(heap, deoptimizer_avma + d->input_off, &input) ||
	    !sw_memory_u64(heap, input + d->size_off, &bytes) || bytes % 8 != 0 ||
	    bytes > FRAME_BYTES_MAX)
		return false;
	*ret_avma = input + d->content_off;
	*ret_bytes = bytes;
	return true;
}

void sw_v8_deopt_touch(const struct sw_v8_deopt *d, struct sw_memory heap,
		       uint64_t deoptimizer_avma)
{
	uint64_t content, bytes, word;
	if (!content_of(d, heap, deoptimizer_avma, &content, &bytes))
		return;
	for (uint64_t at = bytes > TOP_BYTES ? bytes - TOP_BYTES : 0; at < bytes; at += 8)
		(void) sw_memory_u64(heap, content + at, &word); /* kept, or not */
}

/* The frame was below what is on the stack now, and its words are in the object. */
static bool computing(const struct sw_v8_deopt *d, struct sw_memory stack, struct sw_memory heap,
		      uint64_t sp, uint64_t fp, struct sw_v8_given_up *ret)
{
	uint64_t saved, deoptimizer, content, bytes;
	if (!saved_sp(stack, sp, &saved) || !sw_memory_u64(stack, saved, &deoptimizer) ||
	    !content_of(d, heap, deoptimizer, &content, &bytes))
		return false;
	uint64_t end = saved + 8, begin = end - bytes;
	*ret = (struct sw_v8_given_up){.sp = end, .incomplete = true};
	return fp % 8 == 0 && fp >= begin && fp < end && end - fp >= 16 &&
	       sw_memory_u64(heap, content + (fp - begin), &ret->fp) &&
	       sw_memory_u64(heap, content + (fp - begin) + 8, &ret->pc);
}

bool sw_v8_deopt_caller(const struct sw_v8_deopt *d, uint64_t off, struct sw_memory stack,
			struct sw_memory heap, uint64_t sp, uint64_t fp, struct sw_v8_given_up *ret)
{
	uint64_t saved;
	if (off == d->compute_off)
		return computing(d, stack, heap, sp, fp, ret);
	if (off != d->begin_off || !saved_sp(stack, sp, &saved))
		return false;
	*ret = (struct sw_v8_given_up){.sp = saved + d->return_off + 8, .fp = fp};
	return sw_memory_u64(stack, saved + d->return_off, &ret->pc);
}
