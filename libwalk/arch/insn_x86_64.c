/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The length of every x86-64 instruction, and what those do that move the stack pointer, restore
 * registers or jump. In 32-bit mode, too: what differs is in one_byte_32() and where is_32bit is asked.
 * Source: Intel SDM volume 2 (2023), chapter 2 and the opcode maps of appendix A.
 */
#include "arch/insn.h"
#include "arch/arch.h"
#include "cleanup.h"

#include <string.h>

/* What follows the opcode. */
enum {
	M = 1,  /* ModRM, with what belongs to it */
	B = 2,  /* one byte: an immediate, or a near displacement */
	Z = 4,  /* four bytes; two with the operand size prefix */
	D = 8,  /* four bytes: a displacement, whatever the prefixes */
	X = 16, /* no instruction, or one that is looked at before */
	W = 32, /* two bytes */
	MB = M | B,
	MZ = M | Z,
};

/* clang-format off */
static const uint8_t one_byte[256] = {
	/*       0  1  2  3  4  5  6  7   8  9  a  b  c  d  e  f */
	/* 0 */  M, M, M, M, B, Z, X, X,  M, M, M, M, B, Z, X, X,
	/* 1 */  M, M, M, M, B, Z, X, X,  M, M, M, M, B, Z, X, X,
	/* 2 */  M, M, M, M, B, Z, X, X,  M, M, M, M, B, Z, X, X,
	/* 3 */  M, M, M, M, B, Z, X, X,  M, M, M, M, B, Z, X, X,
	/* 4 */  X, X, X, X, X, X, X, X,  X, X, X, X, X, X, X, X,
	/* 5 */  0, 0, 0, 0, 0, 0, 0, 0,  0, 0, 0, 0, 0, 0, 0, 0,
	/* 6 */  X, X, X, M, X, X, X, X,  Z, MZ, B, MB, 0, 0, 0, 0,
	/* 7 */  B, B, B, B, B, B, B, B,  B, B, B, B, B, B, B, B,
	/* 8 */  MB, MZ, X, MB, M, M, M, M, M, M, M, M, M, M, M, M,
	/* 9 */  0, 0, 0, 0, 0, 0, 0, 0,  0, 0, X, 0, 0, 0, 0, 0,
	/* a */  X, X, X, X, 0, 0, 0, 0,  B, Z, 0, 0, 0, 0, 0, 0,
	/* b */  B, B, B, B, B, B, B, B,  Z, Z, Z, Z, Z, Z, Z, Z,
	/* c */  MB, MB, W, 0, X, X, MB, MZ, W | B, 0, W, 0, 0, B, X, 0,
	/* d */  M, M, M, M, X, X, X, 0,  M, M, M, M, M, M, M, M,
	/* e */  B, B, B, B, B, B, B, B,  D, D, X, B, 0, 0, 0, 0,
	/* f */  X, 0, X, X, 0, 0, M, M,  0, 0, 0, 0, 0, 0, M, M,
};

static const uint8_t two_byte[256] = {
	/*       0  1  2  3  4  5  6  7   8  9  a  b  c  d  e  f */
	/* 0 */  M, M, M, M, X, 0, 0, 0,  0, 0, X, 0, X, M, 0, MB,
	/* 1 */  M, M, M, M, M, M, M, M,  M, M, M, M, M, M, M, M,
	/* 2 */  M, M, M, M, X, X, X, X,  M, M, M, M, M, M, M, M,
	/* 3 */  0, 0, 0, 0, 0, 0, X, 0,  X, X, X, X, X, X, X, X,
	/* 4 */  M, M, M, M, M, M, M, M,  M, M, M, M, M, M, M, M,
	/* 5 */  M, M, M, M, M, M, M, M,  M, M, M, M, M, M, M, M,
	/* 6 */  M, M, M, M, M, M, M, M,  M, M, M, M, M, M, M, M,
	/* 7 */  MB, MB, MB, MB, M, M, M, 0,  M, M, X, X, M, M, M, M,
	/* 8 */  D, D, D, D, D, D, D, D,  D, D, D, D, D, D, D, D,
	/* 9 */  M, M, M, M, M, M, M, M,  M, M, M, M, M, M, M, M,
	/* a */  0, 0, 0, M, MB, M, X, X, 0, 0, 0, M, MB, M, M, M,
	/* b */  M, M, M, M, M, M, M, M,  M, M, MB, M, M, M, M, M,
	/* c */  M, M, MB, M, MB, MB, MB, M, 0, 0, 0, 0, 0, 0, 0, 0,
	/* d */  M, M, M, M, M, M, M, M,  M, M, M, M, M, M, M, M,
	/* e */  M, M, M, M, M, M, M, M,  M, M, M, M, M, M, M, M,
	/* f */  M, M, M, M, M, M, M, M,  M, M, M, M, M, M, M, M,
};
/* clang-format on */

/* Opcodes by themselves. */
enum {
	OP_PUSH = 0x50,
	OP_POP = 0x58,
	OP_JCC8 = 0x70,
	OP_ALU_B = 0x80,
	OP_ALU_Z = 0x81,
	OP_ALU_SIGNED = 0x83,
	OP_XCHG_RAX = 0x90,
	OP_MOV_STORE = 0x89,
	OP_MOV_LOAD = 0x8b,
	OP_LEA = 0x8d,
	OP_POP_MEMORY = 0x8f,
	OP_MOV_IMM = 0xb8,
	OP_RET_IMM = 0xc2,
	OP_RET = 0xc3,
	OP_ENTER = 0xc8,
	OP_LEAVE = 0xc9,
	OP_INT3 = 0xcc,
	OP_CALL = 0xe8,
	OP_JMP = 0xe9,
	OP_JMP8 = 0xeb,
	OP_HLT = 0xf4,
	OP_GROUP5 = 0xff,
	OP2_UD2 = 0x0b,
	OP2_JCC = 0x80,
	ESCAPE = 0x0f,
	REG_SP = 4, /* as instructions number them */
	REG_FP = 5,
	MAP_MSR = 7, /* of VEX and EVEX: URDMSR and UWRMSR with the number of the register */
	MAP_XOP = 8, /* and 9, without an immediate; 8 with one byte, 10 with four */
	MAP_XOP_Z = 10,
	MAP_MAX = MAP_XOP_Z,
};

struct decoder {
	const uint8_t *code;
	size_t n, at;
	bool is_32bit;
	bool operand16, address32, vector; /* prefixes: 66, 67; VEX, XOP or EVEX */
	bool evex;
	bool repne;        /* F2 */
	bool segment;      /* FS or GS */
	uint8_t rex, vvvv; /* the register that VEX names */
	unsigned
		map; /* 0: one byte, 1: 0f, 2: 0f 38, 3: 0f 3a, 4 to 7: of VEX and EVEX, 8 to 10: XOP's */
	uint8_t op, modrm, follows;
	int64_t displacement, immediate;
	bool has_base; /* memory at [base + displacement], without an index */
	unsigned base;
};

static bool byte(struct decoder *d, uint8_t *ret)
{
	if (d->at >= d->n || d->at >= SW_INSN_BYTES_MAX)
		return false;
	*ret = d->code[d->at++];
	return true;
}

/* A signed little-endian number of 0, 1, 2, 4 or 8 bytes. */
static bool number(struct decoder *d, size_t length, int64_t *ret)
{
	uint64_t value = 0;
	if (d->at + length > d->n || d->at + length > SW_INSN_BYTES_MAX)
		return false;
	for (size_t i = 0; i < length; i++)
		value |= (uint64_t) d->code[d->at + i] << 8 * i;
	unsigned unused = 64 - 8 * (unsigned) length;
	*ret = length == 0 ? 0 : (int64_t) (value << unused) >> unused;
	d->at += length;
	return true;
}

static bool prefixes(struct decoder *d)
{
	for (;;) {
		if (!byte(d, &d->op))
			return false;
		switch (d->op) {
		case 0x66: d->operand16 = true; break;
		case 0x67: d->address32 = true; break;
		case 0x64:
		case 0x65: d->segment = true; break;
		case 0xf2: d->repne = true; break;
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0xf0:
		case 0xf3: break;
		default:
			if ((d->op & 0xf0) != 0x40 || d->is_32bit)
				return true;
			d->rex = d->op; /* counts only when it stands last */
			return byte(d, &d->op);
		}
	}
}

/* VEX (c4, c5), XOP (8f) and EVEX (62): always before an opcode of a map, with its ModRM. */
static bool vector(struct decoder *d)
{
	uint8_t p[3];
	size_t length = d->op == 0xc5 ? 1 : d->op == 0x62 ? 3 : 2;
	for (size_t i = 0; i < length; i++)
		if (!byte(d, &p[i]))
			return false;
	d->map = length == 1 ? 1 : p[0] & (length == 2 ? 0x1f : 0x07);
	d->vector = true;
	d->evex = length == 3;
	d->vvvv = (uint8_t) ((~p[length == 1 ? 0 : 1] >> 3) & 0xf);
	/* The bits are stored inverted; what they extend matters for general registers alone. */
	d->rex = (uint8_t) (length == 1
				    ? (~p[0] >> 5) & 4
				    : ((~p[0] >> 5) & 7) | (length == 2 && (p[1] & 0x80) ? 8 : 0));
	return d->map >= 1 && byte(d, &d->op);
}

/*
 * In 32-bit mode these opcodes had other meanings first, in which their ModRM is never a register. XOP's was POP, in
 * which ModRM's reg is 0: there XOP has its map, which is 8 or more. AMD APM volume 3 (3.36), 1.8.5.
 */
static bool is_vector(const struct decoder *d)
{
	if (d->op == OP_POP_MEMORY)
		return d->at < d->n && (d->code[d->at] & 0x1f) >= MAP_XOP;
	if (d->op != 0xc4 && d->op != 0xc5 && d->op != 0x62)
		return false;
	return !d->is_32bit || (d->at < d->n && d->code[d->at] >= 0xc0);
}

static bool opcode(struct decoder *d)
{
	if (!prefixes(d))
		return false;
	if (is_vector(d))
		return vector(d);
	if (d->op != ESCAPE)
		return true;
	if (!byte(d, &d->op))
		return false;
	d->map = 1;
	if (d->op == 0x38 || d->op == 0x3a) {
		d->map = d->op == 0x38 ? 2 : 3;
		return byte(d, &d->op);
	}
	return true;
}

/* What 32-bit mode has where 64-bit mode has something else, or nothing. */
static uint8_t one_byte_32(uint8_t op)
{
	switch (op) {
	case 0x06 ... 0x07: /* push, pop of segment registers */
	case 0x0e:
	case 0x16 ... 0x17:
	case 0x1e ... 0x1f:
	case 0x27: /* daa, das, aaa, aas */
	case 0x2f:
	case 0x37:
	case 0x3f:
	case 0x40 ... 0x4f: /* inc, dec */
	case 0x60 ... 0x61: /* pusha, popa */
	case 0xce: /* into */ return 0;
	case 0x62: /* bound, les, lds */
	case 0xc4 ... 0xc5: return M;
	case 0x82: return MB;
	case 0xd4 ... 0xd5: /* aam, aad */ return B;
	default: return one_byte[op];
	}
}

/* EVEX's map of general registers (APX): those of its instructions that may have an immediate are not known. */
static bool is_general_evex(const struct decoder *d)
{
	return d->evex && d->map == 4;
}

static uint8_t follows(const struct decoder *d)
{
	if (is_general_evex(d) &&
	    ((one_byte[d->op] & (B | Z)) || d->op == 0xd4 || d->op == 0xf6 || d->op == 0xf7))
		return X;
	if (d->map > MAP_MAX)
		return X;
	if (d->map == MAP_MSR || d->map == MAP_XOP_Z)
		return M | D;
	if (d->vector) {
		bool immediate =
			d->map == 3 || d->map == MAP_XOP || (d->map == 1 && (two_byte[d->op] & B));
		bool nothing = d->map == 1 && d->op == 0x77; /* vzeroupper */
		return nothing ? 0 : immediate ? MB : M;
	}
	switch (d->map) {
	case 0: return d->is_32bit ? one_byte_32(d->op) : one_byte[d->op];
	case 1: /* extrq, insertq: two numbers of a byte */
		return d->op == 0x78 && (d->operand16 || d->repne) ? M | W : two_byte[d->op];
	case 2: return M;
	default: return MB;
	}
}

static bool modrm(struct decoder *d)
{
	uint8_t sib = 0;
	if (!byte(d, &d->modrm))
		return false;
	unsigned mod = d->modrm >> 6, rm = d->modrm & 7;
	if (mod == 3)
		return true;
	if (d->is_32bit && d->address32)
		return false; /* 16-bit addresses, which no compiler uses */
	bool has_sib = rm == 4, index = false;
	if (has_sib) {
		if (!byte(d, &sib))
			return false;
		index = ((sib >> 3) & 7) != 4 || (d->rex & 2);
		rm = sib & 7;
	}
	bool none = mod == 0 && rm == 5; /* disp32: relative to rip, or absolute */
	d->base = rm | (d->rex & 1U) << 3;
	d->has_base = !none && !index && !d->address32;
	return number(d, mod == 1 ? 1 : mod == 2 || none ? 4 : 0, &d->displacement);
}

static bool immediate(struct decoder *d)
{
	size_t length = 0;
	bool group3 = d->map == 0 && (d->op == 0xf6 || d->op == 0xf7);
	if (d->follows & B)
		length = 1;
	if (d->follows & W)
		length += 2;
	if (d->follows & Z)
		length = d->operand16 && !(d->rex & 8) ? 2 : 4;
	if (d->follows & D)
		length = 4;
	if (d->map == 0 && d->op >= OP_MOV_IMM && d->op < OP_MOV_IMM + 8 && (d->rex & 8))
		length = 8;
	if (group3 && ((d->modrm >> 3) & 7) < 2) /* TEST */
		length = d->op == 0xf6 ? 1 : d->operand16 && !(d->rex & 8) ? 2 : 4;
	return number(d, length, &d->immediate);
}

/* ---- what it does ----------------------------------------------------------------------------- */

static uint8_t dwarf_number(unsigned reg)
{
	static const uint8_t numbers[8] = {0, 2, 1, 3, 7, 6, 4, 5}; /* psABI 1.0, figure 3.36 */
	return (uint8_t) (reg < 8 ? numbers[reg] : reg);
}

static unsigned field_reg(const struct decoder *d)
{
	return ((d->modrm >> 3) & 7U) | (d->rex & 4U) << 1;
}

static unsigned field_rm(const struct decoder *d)
{
	return (d->modrm & 7U) | (d->rex & 1U) << 3;
}

static bool is_register(const struct decoder *d)
{
	return d->modrm >> 6 == 3;
}

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
static void arithmetic(const struct decoder *d, struct sw_insn *i)
{
	enum { ADD = 0, AND = 4, SUB = 5, CMP = 7 };
	if (!is_register(d) || field_rm(d) != REG_SP)
		return;
	switch ((d->modrm >> 3) & 7) {
	case ADD: set(i, SW_INSN_SP_ADD, d->immediate); break;
	case SUB: set(i, SW_INSN_SP_ADD, -d->immediate); break;
	case AND: set(i, SW_INSN_SP_AND, d->immediate); break;
	case CMP: break;
	default: set(i, SW_INSN_SP_LOST, 0);
	}
}

static void move(struct sw_insn *i, unsigned to, unsigned from)
{
	if (to == REG_SP)
		set(i, from == REG_FP ? SW_INSN_SP_FROM_FP : SW_INSN_SP_LOST, 0);
	else if (to == REG_FP && from == REG_SP)
		set(i, SW_INSN_FP_FROM_SP, 0);
	else
		i->reg = dwarf_number(to);
}

static void load(const struct decoder *d, struct sw_insn *i)
{
	unsigned to = field_reg(d);
	if (is_register(d)) {
		move(i, to, field_rm(d));
		return;
	}
	if (to == REG_SP) {
		set(i, SW_INSN_SP_LOST, 0);
		return;
	}
	i->reg = dwarf_number(to);
	if (d->has_base && (d->base == REG_SP || d->base == REG_FP))
		set(i, d->base == REG_SP ? SW_INSN_LOAD_SP : SW_INSN_LOAD_FP, d->displacement);
}

static void lea(const struct decoder *d, struct sw_insn *i)
{
	unsigned to = field_reg(d);
	if (to == REG_SP && d->has_base && d->base == REG_SP)
		set(i, SW_INSN_SP_ADD, d->displacement);
	else if (to == REG_SP && d->has_base && d->base == REG_FP)
		set(i, SW_INSN_SP_FROM_FP, d->displacement);
	else if (to == REG_SP && d->has_base && (d->is_32bit || (d->rex & 8))) {
		set(i, SW_INSN_SP_FROM_REG, d->displacement);
		i->reg = dwarf_number(d->base);
	} else if (to == REG_SP)
		set(i, SW_INSN_SP_LOST, 0);
	else if (to == REG_FP && d->has_base && d->base == REG_SP)
		set(i, SW_INSN_FP_FROM_SP, d->displacement);
}

/* INC, DEC, CALL, far CALL, JMP, far JMP, PUSH. */
static void group5(const struct decoder *d, struct sw_insn *i)
{
	switch ((d->modrm >> 3) & 7) {
	case 2:
	case 3: i->op = SW_INSN_CALL; break;
	case 4:
	case 5: i->op = SW_INSN_JUMP_FAR; break;
	case 6:
		i->op = SW_INSN_PUSH;
		i->of_stack = d->has_base && d->base == REG_SP;
		i->value = i->of_stack ? d->displacement : 0;
		break;
	default:
		if (is_register(d) && field_rm(d) == REG_SP)
			i->op = SW_INSN_SP_LOST;
	}
}

/* Whether the register that ModRM's reg field names is written, and the one of its r/m field. What
 * writes 8 bits, or by VEX, is not used on sp. */
static bool writes_reg(const struct decoder *d)
{
	if (d->map == 0)
		return (d->op < 0x38 && (d->op & 7) == 3) || d->op == 0x63 || d->op == 0x69 ||
		       d->op == 0x6b || d->op == 0x87 || d->op == OP_MOV_LOAD;
	return (d->op >= 0x40 && d->op < 0x50) || d->op == 0xaf || d->op == 0xc1 ||
	       (d->op >= 0xb6 && d->op <= 0xbf && d->op != 0xba && d->op != 0xbb);
}

static bool writes_rm(const struct decoder *d)
{
	unsigned group = (d->modrm >> 3) & 7;
	if (d->map == 0)
		return (d->op < 0x38 && (d->op & 7) == 1) || d->op == 0x87 ||
		       d->op == OP_MOV_STORE || d->op == 0xc1 || d->op == 0xc7 || d->op == 0xd1 ||
		       d->op == 0xd3 || (d->op == 0xf7 && (group == 2 || group == 3));
	return d->op == 0xa4 || d->op == 0xa5 || d->op == 0xab || d->op == 0xac || d->op == 0xad ||
	       d->op == 0xb1 || d->op == 0xb3 || d->op == 0xbb || d->op == 0xc1 ||
	       (d->op == 0xba && group > 4);
}

static void plain(const struct decoder *d, struct sw_insn *i)
{
	if (!(d->follows & M))
		return;
	if ((writes_reg(d) && field_reg(d) == REG_SP) ||
	    (writes_rm(d) && is_register(d) && field_rm(d) == REG_SP))
		i->op = SW_INSN_SP_LOST;
}

static void one_byte_op(const struct decoder *d, struct sw_insn *i, uint64_t next)
{
	bool wide = d->is_32bit ? !d->operand16 : d->rex & 8;
	unsigned low = (d->op & 7U) | (d->rex & 1U) << 3;
	switch (d->op) {
	case OP_PUSH ... OP_PUSH + 7:
		i->op = d->operand16 ? SW_INSN_SP_LOST : SW_INSN_PUSH;
		i->reg = dwarf_number(low);
		break;
	case 0x68:
	case 0x6a:
	case 0x9c: i->op = d->operand16 ? SW_INSN_SP_LOST : SW_INSN_PUSH; break;
	case OP_POP ... OP_POP + 7:
		i->op = low == REG_SP || d->operand16 ? SW_INSN_SP_LOST : SW_INSN_POP;
		i->reg = dwarf_number(low);
		break;
	case OP_POP_MEMORY:
	case 0x9d: i->op = SW_INSN_POP; break;
	case OP_JCC8 ... OP_JCC8 + 15:
	case 0xe0 ... 0xe3: set_target(i, SW_INSN_BRANCH, next + (uint64_t) d->immediate); break;
	case OP_ALU_B:
	case 0x82: break;
	case 0x06: /* push es, cs, ss, ds; in 32-bit mode alone, as the next ones */
	case 0x0e:
	case 0x16:
	case 0x1e: i->op = SW_INSN_PUSH; break;
	case 0x07:
	case 0x17:
	case 0x1f: i->op = SW_INSN_POP; break;
	case 0x40 ... 0x4f: /* inc, dec */
		if ((d->op & 7) == REG_SP)
			i->op = SW_INSN_SP_LOST;
		break;
	case 0x60 ... 0x61: i->op = SW_INSN_SP_LOST; break;
	case OP_ALU_Z:
	case OP_ALU_SIGNED: arithmetic(d, i); break;
	case OP_MOV_STORE:
		if (is_register(d) && wide)
			move(i, field_rm(d), field_reg(d));
		else
			plain(d, i);
		break;
	case OP_MOV_LOAD:
		if (wide)
			load(d, i);
		else
			plain(d, i);
		break;
	case OP_LEA: lea(d, i); break;
	case OP_XCHG_RAX ... OP_XCHG_RAX + 7:
		if (low == REG_SP)
			i->op = SW_INSN_SP_LOST;
		break;
	case OP_MOV_IMM ... OP_MOV_IMM + 7:
		if (low == REG_SP)
			i->op = SW_INSN_SP_LOST;
		break;
	case OP_RET_IMM: set(i, SW_INSN_RETURN, d->immediate & 0xffff); break;
	case OP_RET: i->op = SW_INSN_RETURN; break;
	case OP_ENTER: i->op = SW_INSN_SP_LOST; break;
	case OP_LEAVE: i->op = SW_INSN_LEAVE; break;
	case 0xca ... 0xcb: /* far RET, IRET */
	case 0xcf:
	case OP_INT3:
	case OP_HLT: i->op = SW_INSN_STOP; break;
	case OP_CALL: set_target(i, SW_INSN_CALL, next + (uint64_t) d->immediate); break;
	case OP_JMP:
	case OP_JMP8: set_target(i, SW_INSN_JUMP, next + (uint64_t) d->immediate); break;
	case OP_GROUP5: group5(d, i); break;
	default: plain(d, i);
	}
}

static void two_byte_op(const struct decoder *d, struct sw_insn *i, uint64_t next)
{
	switch (d->op) {
	case OP2_UD2:
	case 0xb9: /* UD1 */
	case 0xff: i->op = SW_INSN_STOP; break;
	case OP2_JCC ... OP2_JCC + 15:
		set_target(i, SW_INSN_BRANCH, next + (uint64_t) d->immediate);
		break;
	case 0xa0: /* push fs, gs */
	case 0xa8: i->op = SW_INSN_PUSH; break;
	case 0xa1:
	case 0xa9: i->op = SW_INSN_POP; break;
	case 0xc8 ... 0xcf: /* bswap */
		if (((d->op & 7U) | (d->rex & 1U) << 3) == REG_SP)
			i->op = SW_INSN_SP_LOST;
		break;
	default: plain(d, i);
	}
}

/* Decodes all of the instruction. *ret_absolute: it moves to or from an address. */
static bool decode(struct decoder *d, bool *ret_absolute)
{
	if (!opcode(d))
		return false;
	*ret_absolute = d->map == 0 && d->op >= 0xa0 && d->op <= 0xa3;
	d->follows = follows(d);
	if (*ret_absolute) {
		size_t length = d->is_32bit ? 4 : 8;
		return number(d, d->address32 ? length / 2 : length, &d->displacement);
	}
	return !(d->follows & X) && (!(d->follows & M) || modrm(d)) && immediate(d);
}

static void describe(const struct decoder *d, bool absolute, uint64_t avma, struct sw_insn *ret)
{
	*ret = (struct sw_insn){.op = SW_INSN_PLAIN,
				.reg = SW_INSN_NO_REG,
				.length = (uint8_t) d->at};
	if (is_general_evex(d)) /* push2, pop2; arithmetic of any register */
		ret->op = SW_INSN_SP_LOST;
	if (d->vector || d->map > 1 || absolute)
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
	struct decoder d = {.code = code, .n = n, .is_32bit = is_32bit};
	bool absolute;
	if (!decode(&d, &absolute))
		return false;
	describe(&d, absolute, avma, ret);
	return true;
}

/* ---- moves ------------------------------------------------------------------------------------ */

/* Bytes that moves of vectors and of the states of SSE and x87 write to memory, at most; 0: they are none, or
 * write none. */
static uint8_t clobbered_bytes(const struct decoder *d)
{
	unsigned group = (d->modrm >> 3) & 7;
	if (d->vector || is_register(d))
		return 0;
	if (d->map == 0)
		return d->op == 0xd9 && group == 7 ? 2 : 0;  /* fnstcw */
	if (d->map == 1 && (d->op == 0x11 || d->op == 0x29)) /* movups, movaps */
		return 16;
	return d->map == 1 && d->op == 0xae && group == 3 ? 4 : 0; /* stmxcsr */
}

/* False: it is not known where. */
static bool clobber(const struct decoder *d, uint8_t bytes, struct sw_move *ret)
{
	bool of_code =
		!d->address32 && (d->modrm & 0xc7) == 5; /* relative to rip: not on a stack */
	if (d->segment || of_code)
		return true;
	ret->op = SW_MOVE_CLOBBER;
	ret->to = dwarf_number(d->base);
	ret->value = d->displacement;
	ret->stored = bytes;
	return d->has_base;
}

/* NOP, ENDBR64, the states of SSE and x87 from memory, moves of vectors. */
static bool is_inert(const struct decoder *d)
{
	unsigned group = (d->modrm >> 3) & 7;
	if (d->vector)
		return false;
	if (d->map == 0)
		return (d->op == OP_XCHG_RAX && !(d->rex & 1)) ||
		       (d->op == 0xd9 && !is_register(d) && (group == 5 || group == 7));
	if (d->map != 1)
		return false;
	switch (d->op) {
	case 0x10 ... 0x11: /* movups */
	case 0x28 ... 0x29: /* movaps */
	case 0x1f: return true;
	case 0x1e: return is_register(d) && d->modrm >= 0xfa && d->modrm <= 0xfb;
	case 0xae: return !is_register(d) && (group == 2 || group == 3);
	default: return false;
	}
}

/* MOV of 64 bits between a register and one or memory, LEA. */
static bool move_of(const struct decoder *d, struct sw_move *ret)
{
	uint8_t reg = dwarf_number(field_reg(d));
	bool memory = !is_register(d);
	uint8_t rm = dwarf_number(memory ? d->base : field_rm(d));
	bool somewhere = memory && (!d->has_base || d->segment);
	ret->value = memory ? d->displacement : 0;
	switch (d->op) {
	case OP_LEA:
		ret->op = d->has_base ? SW_MOVE_COPY : SW_MOVE_FORGET;
		ret->to = reg;
		ret->from = rm;
		return memory;
	case OP_MOV_LOAD:
		ret->op = somewhere ? SW_MOVE_FORGET : memory ? SW_MOVE_LOAD : SW_MOVE_COPY;
		ret->to = reg;
		ret->from = rm;
		return true;
	default:
		ret->op = d->segment ? SW_MOVE_NOTHING : memory ? SW_MOVE_STORE : SW_MOVE_COPY;
		ret->to = rm;
		ret->from = reg;
		return d->op == OP_MOV_STORE && (!somewhere || d->segment);
	}
}

static bool move_one_byte(const struct decoder *d, struct sw_move *ret)
{
	unsigned low = (d->op & 7U) | (d->rex & 1U) << 3;
	if ((d->rex & 8) && !d->operand16 &&
	    (d->op == OP_MOV_STORE || d->op == OP_MOV_LOAD || d->op == OP_LEA))
		return move_of(d, ret);
	switch (d->op) {
	case OP_ALU_Z: /* add, sub */
	case OP_ALU_SIGNED:
		ret->op = SW_MOVE_COPY;
		ret->to = ret->from = dwarf_number(field_rm(d));
		ret->value = (d->modrm >> 3 & 7) == 0 ? d->immediate : -d->immediate;
		return (d->rex & 8) && is_register(d) &&
		       ((d->modrm >> 3 & 7) == 0 || (d->modrm >> 3 & 7) == 5);
	case 0x31: /* xor of a register with itself */
		ret->op = SW_MOVE_FORGET;
		ret->to = dwarf_number(field_rm(d));
		return is_register(d) && field_rm(d) == field_reg(d) && field_rm(d) != REG_SP;
	case OP_MOV_IMM ... OP_MOV_IMM + 7:
		ret->op = SW_MOVE_FORGET;
		ret->to = dwarf_number(low);
		return low != REG_SP;
	case OP_PUSH ... OP_PUSH + 7:
		ret->op = SW_MOVE_PUSH;
		ret->from = dwarf_number(low);
		return !d->operand16;
	case OP_POP ... OP_POP + 7:
		ret->op = SW_MOVE_POP;
		ret->to = dwarf_number(low);
		return !d->operand16;
	case OP_RET: ret->op = SW_MOVE_RETURN; return true;
	case OP_GROUP5:
		ret->op = SW_MOVE_JUMP;
		ret->from = dwarf_number(field_rm(d));
		return is_register(d) && ((d->modrm >> 3) & 7) == 4;
	default: return false;
	}
}

bool sw_arch_move(const uint8_t *code, size_t n, uint64_t avma, struct sw_move *ret)
{
	struct decoder d = {.code = code, .n = n};
	struct sw_insn insn;
	bool absolute;
	if (!decode(&d, &absolute) || absolute)
		return false;
	describe(&d, absolute, avma, &insn);
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

/* ---- registers that are written ---------------------------------------------------------------- */

enum { AX = 0, CX = 1, DX = 2, BX = 3, SP = 4, BP = 5, SI = 6, DI = 7, R11 = 11, ANY = 0xffff };

static uint32_t bit(unsigned reg)
{
	return UINT32_C(1) << dwarf_number(reg);
}

/* Of 8 bits: without REX 4 to 7 are the second bytes of 0 to 3. */
static uint32_t byte_bit(const struct decoder *d, unsigned reg)
{
	return bit(d->rex == 0 && reg >= 4 ? reg - 4 : reg);
}

static uint32_t reg_bit(const struct decoder *d)
{
	return bit(field_reg(d));
}

/* 0: it is memory. */
static uint32_t rm_bit(const struct decoder *d)
{
	return is_register(d) ? bit(field_rm(d)) : 0;
}

static uint32_t rm_byte_bit(const struct decoder *d)
{
	return is_register(d) ? byte_bit(d, field_rm(d)) : 0;
}

/* add, or, adc, sbb, and, sub, xor: of r/m and reg, or of rax and a number. cmp writes nothing. */
static uint32_t written_by_arithmetic(const struct decoder *d)
{
	switch (d->op >= 0x38 ? 7 : d->op & 7) {
	case 0: return rm_byte_bit(d);
	case 1: return rm_bit(d);
	case 2: return byte_bit(d, field_reg(d));
	case 3: return reg_bit(d);
	case 4:
	case 5: return bit(AX);
	default: return 0;
	}
}

/* Groups, whose operation is in ModRM. */
static uint32_t written_by_group(const struct decoder *d)
{
	enum { TEST = 1, NEG = 3, CMP = 7 };
	unsigned operation = (d->modrm >> 3) & 7;
	switch (d->op) {
	case 0x80: return operation == CMP ? 0 : rm_byte_bit(d);
	case 0x81:
	case 0x83: return operation == CMP ? 0 : rm_bit(d);
	case 0xf6: /* test, not, neg, mul, imul, div, idiv */
		return operation <= TEST ? 0 : operation <= NEG ? rm_byte_bit(d) : bit(AX);
	case 0xf7: return operation <= TEST ? 0 : operation <= NEG ? rm_bit(d) : bit(AX) | bit(DX);
	case 0xfe: return rm_byte_bit(d);
	default: /* 0xff: inc, dec, calls, jumps, push */
		if (operation <= 1)
			return rm_bit(d);
		return operation == 2 || operation == 3 || operation == 6 ? bit(SP) : 0;
	}
}

static uint32_t written_by_one_byte(const struct decoder *d)
{
	unsigned low = (d->op & 7U) | (d->rex & 1U) << 3;
	switch (d->op) {
	case 0x00 ... 0x3f: return written_by_arithmetic(d);
	case 0x50 ... 0x57:
	case 0x68:
	case 0x6a:
	case 0x9c ... 0x9d: return bit(SP);
	case 0x58 ... 0x5f: return bit(low) | bit(SP);
	case 0x63:
	case 0x69:
	case 0x6b:
	case 0x8b:
	case 0x8d: return reg_bit(d);
	case 0x6c ... 0x6f: /* of strings, with REP */
	case 0xa4 ... 0xa7: return bit(SI) | bit(DI) | bit(CX);
	case 0xaa ... 0xab:
	case 0xae ... 0xaf: return bit(DI) | bit(CX);
	case 0xac ... 0xad: return bit(AX) | bit(SI) | bit(CX);
	case 0x70 ... 0x7f:
	case 0x84 ... 0x85:
	case 0x8e:
	case 0x9b:
	case 0x9e:
	case 0xa2 ... 0xa3:
	case 0xa8 ... 0xa9:
	case 0xd8 ... 0xde:
	case 0xe3:
	case 0xe9:
	case 0xeb:
	case 0xf5:
	case 0xf8 ... 0xf9:
	case 0xfc ... 0xfd: return 0;
	case 0x80 ... 0x81:
	case 0x83:
	case 0xf6 ... 0xf7:
	case 0xfe ... 0xff: return written_by_group(d);
	case 0x86: return rm_byte_bit(d) | byte_bit(d, field_reg(d));
	case 0x87: return rm_bit(d) | reg_bit(d);
	case 0x88:
	case 0xc0:
	case 0xc6:
	case 0xd0:
	case 0xd2: return rm_byte_bit(d);
	case 0x89:
	case 0x8c:
	case 0xc1:
	case 0xc7:
	case 0xd1:
	case 0xd3: return rm_bit(d);
	case 0x8a: return byte_bit(d, field_reg(d));
	case 0x8f: return rm_bit(d) | bit(SP);
	case 0x90 ... 0x97: return low == AX ? 0 : bit(AX) | bit(low);
	case 0x98:
	case 0x9f:
	case 0xa0 ... 0xa1:
	case 0xd7:
	case 0xdf: /* fnstsw %ax */ return bit(AX);
	case 0x99: return bit(DX);
	case 0xb0 ... 0xb7: return byte_bit(d, low);
	case 0xb8 ... 0xbf: return bit(low);
	case 0xc2 ... 0xc3: return bit(SP);
	case 0xc9: return bit(SP) | bit(BP);
	case 0xe0 ... 0xe2: return bit(CX);
	case 0xe8: return bit(SP);
	default: return ANY;
	}
}

static uint32_t written_by_two_bytes(const struct decoder *d)
{
	unsigned operation = (d->modrm >> 3) & 7, low = (d->op & 7U) | (d->rex & 1U) << 3;
	switch (d->op) {
	case 0x01: /* xgetbv, rdtscp; many others */
		return d->modrm == 0xd0   ? bit(AX) | bit(DX)
		       : d->modrm == 0xf9 ? bit(AX) | bit(CX) | bit(DX)
					  : ANY;
	case 0x05: return bit(AX) | bit(CX) | bit(R11); /* syscall */
	case 0x0b:
	case 0x0d:
	case 0x10 ... 0x1d:
	case 0x1f:
	case 0x28 ... 0x2b:
	case 0x2e ... 0x2f:
	case 0x51 ... 0x77:
	case 0x7c ... 0x7d:
	case 0x7f ... 0x8f:
	case 0xa3:
	case 0xc2 ... 0xc4:
	case 0xc6:
	case 0xd0 ... 0xd6:
	case 0xd8 ... 0xff: return 0;
	case 0x1e: return is_register(d) && operation == 1 ? rm_bit(d) : 0; /* rdsspq */
	case 0x2c ... 0x2d:                                                 /* cvttss2si */
	case 0x40 ... 0x4f:                                                 /* cmovcc */
	case 0x50:                                                          /* movmskps */
	case 0xaf:
	case 0xb6 ... 0xb8:
	case 0xbc ... 0xbf:
	case 0xc5:
	case 0xd7: return reg_bit(d);
	case 0x7e: return rm_bit(d);               /* movd */
	case 0x90 ... 0x9f: return rm_byte_bit(d); /* setcc */
	case 0xa0:
	case 0xa8: return bit(SP);
	case 0xa2: return bit(AX) | bit(BX) | bit(CX) | bit(DX); /* cpuid */
	case 0x31: return bit(AX) | bit(DX);                     /* rdtsc */
	case 0xa4 ... 0xa5:
	case 0xab:
	case 0xac ... 0xad:
	case 0xb3:
	case 0xbb: return rm_bit(d);
	case 0xba: return operation > 4 ? rm_bit(d) : 0;
	case 0xae: return operation <= 1 ? rm_bit(d) : 0; /* rdfsbase */
	case 0xb0: return rm_byte_bit(d) | bit(AX);       /* cmpxchg */
	case 0xb1: return rm_bit(d) | bit(AX);
	case 0xc0: return rm_byte_bit(d) | byte_bit(d, field_reg(d)); /* xadd */
	case 0xc1: return rm_bit(d) | reg_bit(d);
	case 0xc7: return rm_bit(d) | bit(AX) | bit(DX); /* rdrand, cmpxchg8b */
	case 0xc8 ... 0xcf: return bit(low);
	default: return ANY;
	}
}

/* The ends of maps 2 and 3, where all work on general registers. */
static uint32_t written_by_general(const struct decoder *d)
{
	if (d->evex)
		return ANY;
	if (!d->vector) /* crc32, movbe, adcx; urdmsr */
		return d->map != 2 ? ANY : reg_bit(d) | (d->op == 0xf8 ? rm_bit(d) : 0);
	if (d->map == 3)
		return d->op == 0xf0 ? reg_bit(d) : ANY; /* rorx */
	switch (d->op) {
	case 0xe0 ... 0xef:                          /* cmpccxadd */
	case 0xf2:                                   /* andn */
	case 0xf5:                                   /* bzhi, pdep, pext */
	case 0xf7: return reg_bit(d);                /* bextr, shlx */
	case 0xf3: return bit(d->vvvv);              /* blsr */
	case 0xf6: return bit(d->vvvv) | reg_bit(d); /* mulx */
	default: return ANY;
	}
}

/* Of maps 2 and 3, and by VEX and EVEX: what works on vectors writes few general registers. */
static uint32_t written_by_others(const struct decoder *d)
{
	if (d->map == 3 && d->op >= 0x14 && d->op <= 0x17) /* pextrb */
		return rm_bit(d);
	if (d->map == 3 && d->op >= 0x60 && d->op <= 0x63) /* pcmpistri */
		return bit(CX);
	if (d->map > 3)
		return ANY;
	if (d->map >= 2)
		return d->op >= 0xe0 ? written_by_general(d) : 0;
	switch (d->op) {
	case 0x2c ... 0x2d:
	case 0x50:
	case 0x78 ... 0x79:
	case 0x93: /* kmov */
	case 0xc5:
	case 0xd7: return reg_bit(d);
	case 0x7e: return rm_bit(d);
	default: return 0;
	}
}

uint32_t sw_arch_written(const uint8_t *code, size_t n)
{
	struct decoder d = {.code = code, .n = n};
	bool absolute;
	if (!decode(&d, &absolute))
		return ANY;
	if (d.vector || d.map > 1)
		return written_by_others(&d);
	return d.map == 1 ? written_by_two_bytes(&d) : written_by_one_byte(&d);
}
