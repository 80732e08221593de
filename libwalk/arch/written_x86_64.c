/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Registers that an x86-64 instruction writes.
 * Source: Intel SDM volume 2 (2023), the opcode maps of appendix A.
 */
#include "arch/written.h"
#include "arch/x86_decode.h"

enum { AX = 0, CX = 1, DX = 2, BX = 3, SP = 4, BP = 5, SI = 6, DI = 7, R11 = 11, ANY = 0xffff };

static uint32_t bit(unsigned reg)
{
	return UINT32_C(1) << sw_x86_dwarf_number(reg);
}

/* The register of 8 bits with that number: without REX 4 to 7 are the second bytes of 0 to 3. */
static uint32_t byte_bit(const struct sw_x86_decoded *d, unsigned reg)
{
	return bit(d->rex == 0 && reg >= 4 ? reg - 4 : reg);
}

static uint32_t reg_bit(const struct sw_x86_decoded *d)
{
	return bit(sw_x86_reg(d));
}

/* 0: it is memory. */
static uint32_t rm_bit(const struct sw_x86_decoded *d)
{
	return sw_x86_is_register(d) ? bit(sw_x86_rm(d)) : 0;
}

static uint32_t rm_byte_bit(const struct sw_x86_decoded *d)
{
	return sw_x86_is_register(d) ? byte_bit(d, sw_x86_rm(d)) : 0;
}

/* add, or, adc, sbb, and, sub, xor: of r/m and reg, or of rax and a number. cmp writes nothing. */
static uint32_t written_by_arithmetic(const struct sw_x86_decoded *d)
{
	switch (d->op >= 0x38 ? 7 : d->op & 7) {
	case 0: return rm_byte_bit(d);
	case 1: return rm_bit(d);
	case 2: return byte_bit(d, sw_x86_reg(d));
	case 3: return reg_bit(d);
	case 4:
	case 5: return bit(AX);
	default: return 0;
	}
}

/* Groups, whose operation is in ModRM. */
static uint32_t written_by_group(const struct sw_x86_decoded *d)
{
	enum { TEST = 1, NEG = 3, CMP = 7 };
	unsigned operation = sw_x86_operation(d);
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

static uint32_t written_by_one_byte(const struct sw_x86_decoded *d)
{
	unsigned low = sw_x86_op_reg(d);
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
	case 0x86: return rm_byte_bit(d) | byte_bit(d, sw_x86_reg(d));
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
	case 0x8a: return byte_bit(d, sw_x86_reg(d));
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

static uint32_t written_by_two_bytes(const struct sw_x86_decoded *d)
{
	unsigned operation = sw_x86_operation(d), low = sw_x86_op_reg(d);
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
	case 0x1e: return sw_x86_is_register(d) && operation == 1 ? rm_bit(d) : 0; /* rdsspq */
	case 0x2c ... 0x2d:                                                        /* cvttss2si */
	case 0x40 ... 0x4f:                                                        /* cmovcc */
	case 0x50:                                                                 /* movmskps */
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
	case 0xc0: return rm_byte_bit(d) | byte_bit(d, sw_x86_reg(d)); /* xadd */
	case 0xc1: return rm_bit(d) | reg_bit(d);
	case 0xc7: return rm_bit(d) | bit(AX) | bit(DX); /* rdrand, cmpxchg8b */
	case 0xc8 ... 0xcf: return bit(low);
	default: return ANY;
	}
}

/* The ends of maps 2 and 3, where all work on general registers. */
static uint32_t written_by_general(const struct sw_x86_decoded *d)
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

/* Registers written by instructions of maps 2 and 3, and by VEX and EVEX: instructions on vectors
 * write few general registers. */
static uint32_t written_by_others(const struct sw_x86_decoded *d)
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
	struct sw_x86_decoded d;
	if (!sw_x86_decode(false, code, n, &d))
		return ANY;
	if (d.vector || d.map > 1)
		return written_by_others(&d);
	return d.map == 1 ? written_by_two_bytes(&d) : written_by_one_byte(&d);
}
