/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The x86-64 instructions that move the stack pointer, restore registers or jump, in 32-bit mode,
 * too; and moves whose operands are all known. Source: Intel SDM volume 2 (2023), the opcode maps
 * of appendix A.
 */
#include "arch/insn.h"
#include "arch/arch.h"
#include "arch/x86_decode.h"

static void set(struct sw_insn *i, enum sw_insn_op op, int64_t value)
{
	i->op = op;
	i->value = value;
}

static void set_target(struct sw_insn *i, enum sw_insn_op op, uint64_t target)
{
	i->op = op;
	i->target = target;
	i->target_known = true;
}

/* add, or, adc, sbb, and, sub, xor, cmp with an immediate. */
static void arithmetic(const struct sw_x86_decoded *d, struct sw_insn *i)
{
	enum { ADD = 0, AND = 4, SUB = 5, CMP = 7 };
	if (!sw_x86_is_register(d) || sw_x86_rm(d) != SW_X86_SP)
		return;
	switch (sw_x86_operation(d)) {
	case ADD: set(i, SW_INSN_SP_ADD, d->immediate); break;
	case SUB: set(i, SW_INSN_SP_ADD, -d->immediate); break;
	case AND: set(i, SW_INSN_SP_AND, d->immediate); break;
	case CMP: break;
	default: set(i, SW_INSN_SP_LOST, 0);
	}
}

static void move(struct sw_insn *i, unsigned to, unsigned from)
{
	if (to == SW_X86_SP)
		set(i, from == SW_X86_FP ? SW_INSN_SP_FROM_FP : SW_INSN_SP_LOST, 0);
	else if (to == SW_X86_FP && from == SW_X86_SP)
		set(i, SW_INSN_FP_FROM_SP, 0);
	else
		i->reg = sw_x86_dwarf_number(to);
}

static void load(const struct sw_x86_decoded *d, struct sw_insn *i)
{
	unsigned to = sw_x86_reg(d);
	if (sw_x86_is_register(d)) {
		move(i, to, sw_x86_rm(d));
		return;
	}
	if (to == SW_X86_SP) {
		set(i, SW_INSN_SP_LOST, 0);
		return;
	}
	i->reg = sw_x86_dwarf_number(to);
	if (d->has_base && (d->base == SW_X86_SP || d->base == SW_X86_FP))
		set(i, d->base == SW_X86_SP ? SW_INSN_LOAD_SP : SW_INSN_LOAD_FP, d->displacement);
}

static void lea(const struct sw_x86_decoded *d, struct sw_insn *i)
{
	unsigned to = sw_x86_reg(d);
	if (to == SW_X86_SP && d->has_base && d->base == SW_X86_SP)
		set(i, SW_INSN_SP_ADD, d->displacement);
	else if (to == SW_X86_SP && d->has_base && d->base == SW_X86_FP)
		set(i, SW_INSN_SP_FROM_FP, d->displacement);
	else if (to == SW_X86_SP && d->has_base && (d->is_32bit || (d->rex & 8))) {
		set(i, SW_INSN_SP_FROM_REG, d->displacement);
		i->reg = sw_x86_dwarf_number(d->base);
	} else if (to == SW_X86_SP)
		set(i, SW_INSN_SP_LOST, 0);
	else if (to == SW_X86_FP && d->has_base && d->base == SW_X86_SP)
		set(i, SW_INSN_FP_FROM_SP, d->displacement);
}

/* INC, DEC, CALL, far CALL, JMP, far JMP, PUSH. */
static void group5(const struct sw_x86_decoded *d, struct sw_insn *i)
{
	switch (sw_x86_operation(d)) {
	case 2:
	case 3: i->op = SW_INSN_CALL; break;
	case 4:
	case 5: i->op = SW_INSN_JUMP_FAR; break;
	case 6:
		i->op = SW_INSN_PUSH;
		i->of_stack = d->has_base && d->base == SW_X86_SP;
		i->value = i->of_stack ? d->displacement : 0;
		break;
	default:
		if (sw_x86_is_register(d) && sw_x86_rm(d) == SW_X86_SP)
			i->op = SW_INSN_SP_LOST;
	}
}

/* Whether the register that ModRM's reg field names is written, and the one of its r/m field. What
 * writes 8 bits, or by VEX, is not used on sp. */
static bool writes_reg(const struct sw_x86_decoded *d)
{
	if (d->map == 0)
		return (d->op < 0x38 && (d->op & 7) == 3) || d->op == 0x63 || d->op == 0x69 ||
		       d->op == 0x6b || d->op == 0x87 || d->op == SW_X86_MOV_LOAD;
	return (d->op >= 0x40 && d->op < 0x50) || d->op == 0xaf || d->op == 0xc1 ||
	       (d->op >= 0xb6 && d->op <= 0xbf && d->op != 0xba && d->op != 0xbb);
}

static bool writes_rm(const struct sw_x86_decoded *d)
{
	unsigned group = sw_x86_operation(d);
	if (d->map == 0)
		return (d->op < 0x38 && (d->op & 7) == 1) || d->op == 0x87 ||
		       d->op == SW_X86_MOV_STORE || d->op == 0xc1 || d->op == 0xc7 ||
		       d->op == 0xd1 || d->op == 0xd3 ||
		       (d->op == 0xf7 && (group == 2 || group == 3));
	return d->op == 0xa4 || d->op == 0xa5 || d->op == 0xab || d->op == 0xac || d->op == 0xad ||
	       d->op == 0xb1 || d->op == 0xb3 || d->op == 0xbb || d->op == 0xc1 ||
	       (d->op == 0xba && group > 4);
}

static void plain(const struct sw_x86_decoded *d, struct sw_insn *i)
{
	if (!d->has_modrm)
		return;
	if ((writes_reg(d) && sw_x86_reg(d) == SW_X86_SP) ||
	    (writes_rm(d) && sw_x86_is_register(d) && sw_x86_rm(d) == SW_X86_SP))
		i->op = SW_INSN_SP_LOST;
}

static void one_byte_op(const struct sw_x86_decoded *d, struct sw_insn *i, uint64_t next)
{
	bool wide = d->is_32bit ? !d->operand16 : d->rex & 8;
	unsigned low = sw_x86_op_reg(d);
	switch (d->op) {
	case SW_X86_PUSH ... SW_X86_PUSH + 7:
		i->op = d->operand16 ? SW_INSN_SP_LOST : SW_INSN_PUSH;
		i->reg = sw_x86_dwarf_number(low);
		break;
	case 0x68:
	case 0x6a:
	case 0x9c: i->op = d->operand16 ? SW_INSN_SP_LOST : SW_INSN_PUSH; break;
	case SW_X86_POP ... SW_X86_POP + 7:
		i->op = low == SW_X86_SP || d->operand16 ? SW_INSN_SP_LOST : SW_INSN_POP;
		i->reg = sw_x86_dwarf_number(low);
		break;
	case SW_X86_POP_MEMORY:
	case 0x9d: i->op = SW_INSN_POP; break;
	case SW_X86_JCC8 ... SW_X86_JCC8 + 15:
	case 0xe0 ... 0xe3: set_target(i, SW_INSN_BRANCH, next + (uint64_t) d->immediate); break;
	case SW_X86_ALU_B:
	case 0x82: break;
	case 0x06: /* push es, cs, ss, ds; in 32-bit mode alone, as the next ones */
	case 0x0e:
	case 0x16:
	case 0x1e: i->op = SW_INSN_PUSH; break;
	case 0x07:
	case 0x17:
	case 0x1f: i->op = SW_INSN_POP; break;
	case 0x40 ... 0x4f: /* inc, dec */
		if ((d->op & 7) == SW_X86_SP)
			i->op = SW_INSN_SP_LOST;
		break;
	case 0x60 ... 0x61: i->op = SW_INSN_SP_LOST; break;
	case SW_X86_ALU_Z:
	case SW_X86_ALU_SIGNED: arithmetic(d, i); break;
	case SW_X86_MOV_STORE:
		if (sw_x86_is_register(d) && wide)
			move(i, sw_x86_rm(d), sw_x86_reg(d));
		else
			plain(d, i);
		break;
	case SW_X86_MOV_LOAD:
		if (wide)
			load(d, i);
		else
			plain(d, i);
		break;
	case SW_X86_LEA: lea(d, i); break;
	case SW_X86_XCHG_RAX ... SW_X86_XCHG_RAX + 7:
		if (low == SW_X86_SP)
			i->op = SW_INSN_SP_LOST;
		break;
	case SW_X86_MOV_IMM ... SW_X86_MOV_IMM + 7:
		if (low == SW_X86_SP)
			i->op = SW_INSN_SP_LOST;
		break;
	case SW_X86_RET_IMM: set(i, SW_INSN_RETURN, d->immediate & 0xffff); break;
	case SW_X86_RET: i->op = SW_INSN_RETURN; break;
	case SW_X86_ENTER: i->op = SW_INSN_SP_LOST; break;
	case SW_X86_LEAVE: i->op = SW_INSN_LEAVE; break;
	case 0xca ... 0xcb: /* far RET, IRET */
	case 0xcf:
	case SW_X86_INT3:
	case SW_X86_HLT: i->op = SW_INSN_STOP; break;
	case SW_X86_CALL: set_target(i, SW_INSN_CALL, next + (uint64_t) d->immediate); break;
	case SW_X86_JMP:
	case SW_X86_JMP8: set_target(i, SW_INSN_JUMP, next + (uint64_t) d->immediate); break;
	case SW_X86_GROUP5: group5(d, i); break;
	default: plain(d, i);
	}
}

static void two_byte_op(const struct sw_x86_decoded *d, struct sw_insn *i, uint64_t next)
{
	switch (d->op) {
	case SW_X86_0F_UD2:
	case 0xb9: /* UD1 */
	case 0xff: i->op = SW_INSN_STOP; break;
	case SW_X86_0F_JCC ... SW_X86_0F_JCC + 15:
		set_target(i, SW_INSN_BRANCH, next + (uint64_t) d->immediate);
		break;
	case 0xa0: /* push fs, gs */
	case 0xa8: i->op = SW_INSN_PUSH; break;
	case 0xa1:
	case 0xa9: i->op = SW_INSN_POP; break;
	case 0xc8 ... 0xcf: /* bswap */
		if (sw_x86_op_reg(d) == SW_X86_SP)
			i->op = SW_INSN_SP_LOST;
		break;
	default: plain(d, i);
	}
}

static void describe(const struct sw_x86_decoded *d, uint64_t avma, struct sw_insn *ret)
{
	*ret = (struct sw_insn){.op = SW_INSN_PLAIN,
				.reg = SW_INSN_NO_REG,
				.length = (uint8_t) d->at};
	if (sw_x86_is_general_evex(d)) /* push2, pop2; arithmetic of any register */
		ret->op = SW_INSN_SP_LOST;
	if (d->vector || d->map > 1 || d->absolute)
		return;
	if (d->map == 1)
		two_byte_op(d, ret, avma + d->at);
	else
		one_byte_op(d, ret, avma + d->at);
	if (d->is_32bit)
		ret->target = (uint32_t) ret->target;
}

bool sw_arch_insn(bool is_32bit, const uint8_t *code, size_t n, uint64_t avma, struct sw_insn *ret)
{
	struct sw_x86_decoded d;
	if (!sw_x86_decode(is_32bit, code, n, &d))
		return false;
	describe(&d, avma, ret);
	return true;
}

/* ---- moves ------------------------------------------------------------------------------------ */

/* Bytes that moves of vectors and of the states of SSE and x87 write to memory, at most; 0: they are none, or
 * write none. */
static uint8_t clobbered_bytes(const struct sw_x86_decoded *d)
{
	unsigned group = sw_x86_operation(d);
	if (d->vector || sw_x86_is_register(d))
		return 0;
	if (d->map == 0)
		return d->op == 0xd9 && group == 7 ? 2 : 0;  /* fnstcw */
	if (d->map == 1 && (d->op == 0x11 || d->op == 0x29)) /* movups, movaps */
		return 16;
	return d->map == 1 && d->op == 0xae && group == 3 ? 4 : 0; /* stmxcsr */
}

/* False: it is not known where. */
static bool clobber(const struct sw_x86_decoded *d, uint8_t bytes, struct sw_move *ret)
{
	bool of_code =
		!d->address32 && (d->modrm & 0xc7) == 5; /* relative to rip: not on a stack */
	if (d->segment || of_code)
		return true;
	ret->op = SW_MOVE_CLOBBER;
	ret->to = sw_x86_dwarf_number(d->base);
	ret->value = d->displacement;
	ret->stored = bytes;
	return d->has_base;
}

/* NOP, ENDBR64, the states of SSE and x87 from memory, moves of vectors. */
static bool is_inert(const struct sw_x86_decoded *d)
{
	unsigned group = sw_x86_operation(d);
	if (d->vector)
		return false;
	if (d->map == 0)
		return (d->op == SW_X86_XCHG_RAX && !(d->rex & 1)) ||
		       (d->op == 0xd9 && !sw_x86_is_register(d) && (group == 5 || group == 7));
	if (d->map != 1)
		return false;
	switch (d->op) {
	case 0x10 ... 0x11: /* movups */
	case 0x28 ... 0x29: /* movaps */
	case 0x1f: return true;
	case 0x1e: return sw_x86_is_register(d) && d->modrm >= 0xfa && d->modrm <= 0xfb;
	case 0xae: return !sw_x86_is_register(d) && (group == 2 || group == 3);
	default: return false;
	}
}

/* MOV of 64 bits between a register and one or memory, LEA. */
static bool move_of(const struct sw_x86_decoded *d, struct sw_move *ret)
{
	uint8_t reg = sw_x86_dwarf_number(sw_x86_reg(d));
	bool memory = !sw_x86_is_register(d);
	uint8_t rm = sw_x86_dwarf_number(memory ? d->base : sw_x86_rm(d));
	bool somewhere = memory && (!d->has_base || d->segment);
	ret->value = memory ? d->displacement : 0;
	switch (d->op) {
	case SW_X86_LEA:
		ret->op = d->has_base ? SW_MOVE_COPY : SW_MOVE_FORGET;
		ret->to = reg;
		ret->from = rm;
		return memory;
	case SW_X86_MOV_LOAD:
		ret->op = somewhere ? SW_MOVE_FORGET : memory ? SW_MOVE_LOAD : SW_MOVE_COPY;
		ret->to = reg;
		ret->from = rm;
		return true;
	default:
		ret->op = d->segment ? SW_MOVE_NOTHING : memory ? SW_MOVE_STORE : SW_MOVE_COPY;
		ret->to = rm;
		ret->from = reg;
		return d->op == SW_X86_MOV_STORE && (!somewhere || d->segment);
	}
}

static bool move_one_byte(const struct sw_x86_decoded *d, struct sw_move *ret)
{
	unsigned low = sw_x86_op_reg(d);
	if ((d->rex & 8) && !d->operand16 &&
	    (d->op == SW_X86_MOV_STORE || d->op == SW_X86_MOV_LOAD || d->op == SW_X86_LEA))
		return move_of(d, ret);
	switch (d->op) {
	case SW_X86_ALU_Z: /* add, sub */
	case SW_X86_ALU_SIGNED:
		ret->op = SW_MOVE_COPY;
		ret->to = ret->from = sw_x86_dwarf_number(sw_x86_rm(d));
		ret->value = sw_x86_operation(d) == 0 ? d->immediate : -d->immediate;
		return (d->rex & 8) && sw_x86_is_register(d) &&
		       (sw_x86_operation(d) == 0 || sw_x86_operation(d) == 5);
	case 0x31: /* xor of a register with itself */
		ret->op = SW_MOVE_FORGET;
		ret->to = sw_x86_dwarf_number(sw_x86_rm(d));
		return sw_x86_is_register(d) && sw_x86_rm(d) == sw_x86_reg(d) &&
		       sw_x86_rm(d) != SW_X86_SP;
	case SW_X86_MOV_IMM ... SW_X86_MOV_IMM + 7:
		ret->op = SW_MOVE_FORGET;
		ret->to = sw_x86_dwarf_number(low);
		return low != SW_X86_SP;
	case SW_X86_PUSH ... SW_X86_PUSH + 7:
		ret->op = SW_MOVE_PUSH;
		ret->from = sw_x86_dwarf_number(low);
		return !d->operand16;
	case SW_X86_POP ... SW_X86_POP + 7:
		ret->op = SW_MOVE_POP;
		ret->to = sw_x86_dwarf_number(low);
		return !d->operand16;
	case SW_X86_RET: ret->op = SW_MOVE_RETURN; return true;
	case SW_X86_GROUP5:
		ret->op = SW_MOVE_JUMP;
		ret->from = sw_x86_dwarf_number(sw_x86_rm(d));
		return sw_x86_is_register(d) && sw_x86_operation(d) == 4;
	default: return false;
	}
}

bool sw_arch_move(const uint8_t *code, size_t n, uint64_t avma, struct sw_move *ret)
{
	struct sw_x86_decoded d;
	struct sw_insn insn;
	if (!sw_x86_decode(false, code, n, &d) || d.absolute)
		return false;
	describe(&d, avma, &insn);
	*ret = (struct sw_move){.op = SW_MOVE_NOTHING, .length = insn.length};
	if (insn.op == SW_INSN_SP_ADD) {
		ret->op = SW_MOVE_COPY;
		ret->to = ret->from = SW_ARCH_SP;
		ret->value = insn.value;
		return true;
	}
	uint8_t bytes = clobbered_bytes(&d);
	if (bytes != 0)
		return clobber(&d, bytes, ret);
	return is_inert(&d) || (d.map == 0 && !d.vector && move_one_byte(&d, ret));
}
