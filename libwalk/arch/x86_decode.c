/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The parts of every x86 instruction, and with them its length. In 32-bit mode, too: what differs is in
 * one_byte_32() and where is_32bit is asked.
 * Source: Intel SDM volume 2 (2023), chapter 2 and the opcode maps of appendix A.
 */
#include "arch/x86_decode.h"
#include "arch/insn.h"

/* The bytes that follow the opcode. */
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

enum {
	ESCAPE = 0x0f,
	MAP_MSR = 7, /* of VEX and EVEX: URDMSR and UWRMSR with the number of the register */
	MAP_XOP = 8, /* and 9, without an immediate; 8 with one byte, 10 with four */
	MAP_XOP_Z = 10,
	MAP_MAX = MAP_XOP_Z,
};

static bool byte(struct sw_x86_decoded *d, uint8_t *ret)
{
	if (d->at >= d->n || d->at >= SW_INSN_BYTES_MAX)
		return false;
	*ret = d->code[d->at++];
	return true;
}

/* A signed little-endian number of 0, 1, 2, 4 or 8 bytes. */
static bool number(struct sw_x86_decoded *d, size_t length, int64_t *ret)
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

static bool prefixes(struct sw_x86_decoded *d)
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
static bool vector(struct sw_x86_decoded *d)
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
static bool is_vector(const struct sw_x86_decoded *d)
{
	if (d->op == SW_X86_POP_MEMORY)
		return d->at < d->n && (d->code[d->at] & 0x1f) >= MAP_XOP;
	if (d->op != 0xc4 && d->op != 0xc5 && d->op != 0x62)
		return false;
	return !d->is_32bit || (d->at < d->n && d->code[d->at] >= 0xc0);
}

static bool opcode(struct sw_x86_decoded *d)
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

/* The opcodes for which 32-bit mode has something else than 64-bit mode, or which only it has. */
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

static uint8_t follows(const struct sw_x86_decoded *d)
{
	if (sw_x86_is_general_evex(d) &&
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

static bool modrm(struct sw_x86_decoded *d)
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

static bool immediate(struct sw_x86_decoded *d)
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
	if (d->map == 0 && d->op >= SW_X86_MOV_IMM && d->op < SW_X86_MOV_IMM + 8 && (d->rex & 8))
		length = 8;
	if (group3 && sw_x86_operation(d) < 2) /* TEST */
		length = d->op == 0xf6 ? 1 : d->operand16 && !(d->rex & 8) ? 2 : 4;
	return number(d, length, &d->immediate);
}

bool sw_x86_decode(bool is_32bit, const uint8_t *code, size_t n, struct sw_x86_decoded *ret)
{
	struct sw_x86_decoded *d = ret;
	*d = (struct sw_x86_decoded){.code = code, .n = n, .is_32bit = is_32bit};
	if (!opcode(d))
		return false;
	d->absolute = d->map == 0 && d->op >= 0xa0 && d->op <= 0xa3;
	d->follows = follows(d);
	d->has_modrm = d->follows & M;
	if (d->absolute) {
		size_t length = is_32bit ? 4 : 8;
		return number(d, d->address32 ? length / 2 : length, &d->displacement);
	}
	return !(d->follows & X) && (!d->has_modrm || modrm(d)) && immediate(d);
}
