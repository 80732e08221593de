/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_ARCH_X86_DECODE_H
#define SW_ARCH_X86_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The parts of an instruction. Their meaning is for insn_x86_64.c and written_x86_64.c to say. */
struct sw_x86_decoded {
	const uint8_t *code; /* borrowed */
	size_t n;            /* bytes of code */
	size_t at;           /* those that were decoded: in the end the length */
	bool is_32bit;
	bool operand16, address32, vector; /* prefixes: 66, 67; VEX, XOP or EVEX */
	bool evex;
	bool repne;        /* F2 */
	bool segment;      /* FS or GS */
	uint8_t rex, vvvv; /* the register that VEX names */
	/* 0: one byte, 1: 0f, 2: 0f 38, 3: 0f 3a, 4 to 7: of VEX and EVEX, 8 to 10: XOP's */
	unsigned map;
	uint8_t op, modrm;
	uint8_t follows; /* the opcode, by the tables */
	bool has_modrm;
	bool absolute; /* moves to or from an address that follows the opcode */
	int64_t displacement, immediate;
	bool has_base; /* memory at [base + displacement], without an index */
	unsigned base;
};

/* Opcodes of one byte, and of two behind 0f. */
enum {
	SW_X86_PUSH = 0x50,
	SW_X86_POP = 0x58,
	SW_X86_JCC8 = 0x70,
	SW_X86_ALU_B = 0x80,
	SW_X86_ALU_Z = 0x81,
	SW_X86_ALU_SIGNED = 0x83,
	SW_X86_MOV_STORE = 0x89,
	SW_X86_MOV_LOAD = 0x8b,
	SW_X86_LEA = 0x8d,
	SW_X86_POP_MEMORY = 0x8f,
	SW_X86_XCHG_RAX = 0x90,
	SW_X86_MOV_IMM = 0xb8,
	SW_X86_RET_IMM = 0xc2,
	SW_X86_RET = 0xc3,
	SW_X86_ENTER = 0xc8,
	SW_X86_LEAVE = 0xc9,
	SW_X86_INT3 = 0xcc,
	SW_X86_CALL = 0xe8,
	SW_X86_JMP = 0xe9,
	SW_X86_JMP8 = 0xeb,
	SW_X86_HLT = 0xf4,
	SW_X86_GROUP5 = 0xff,
	SW_X86_0F_UD2 = 0x0b,
	SW_X86_0F_JCC = 0x80,
};

/* The stack and the frame pointer, as instructions number them. */
enum { SW_X86_SP = 4, SW_X86_FP = 5 };

static inline uint8_t sw_x86_dwarf_number(unsigned reg)
{
	static const uint8_t numbers[8] = {0, 2, 1, 3, 7, 6, 4, 5}; /* psABI 1.0, figure 3.36 */
	return (uint8_t) (reg < 8 ? numbers[reg] : reg);
}

/* The register that ModRM's reg field names; those of its r/m field, if that is one, and of the opcode. */
static inline unsigned sw_x86_reg(const struct sw_x86_decoded *d)
{
	return ((d->modrm >> 3) & 7U) | (d->rex & 4U) << 1;
}

static inline unsigned sw_x86_rm(const struct sw_x86_decoded *d)
{
	return (d->modrm & 7U) | (d->rex & 1U) << 3;
}

static inline unsigned sw_x86_op_reg(const struct sw_x86_decoded *d)
{
	return (d->op & 7U) | (d->rex & 1U) << 3;
}

/* Whether ModRM's r/m field is a register, not memory. */
static inline bool sw_x86_is_register(const struct sw_x86_decoded *d)
{
	return d->modrm >> 6 == 3;
}

/* Which one of a group of operations that share an opcode. */
static inline unsigned sw_x86_operation(const struct sw_x86_decoded *d)
{
	return (d->modrm >> 3) & 7;
}

/* EVEX's map of general registers (APX): those of its instructions that may have an immediate are not known. */
static inline bool sw_x86_is_general_evex(const struct sw_x86_decoded *d)
{
	return d->evex && d->map == 4;
}

/* As sw_arch_insn(), of which it is the first half. */
bool sw_x86_decode(bool is_32bit, const uint8_t *code, size_t n, struct sw_x86_decoded *ret);

#endif
