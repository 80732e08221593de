/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/v8/insn.h"

enum { RSP = 4, RBP = 5 };

/* What an instruction is made of. */
struct parts {
	struct sw_bytes code;
	size_t at; /* of what comes next */
	uint8_t rex, map, opcode, modrm;
	bool narrow; /* operands of 16 bits */
	bool has_modrm;
	bool is_vex;
	uint8_t immediate; /* bytes */
	int64_t value;     /* of the immediate */
};

static bool take(struct parts *p, uint8_t *ret)
{
	return sw_bytes_u8(p->code, p->at, ret) && ++p->at <= SW_V8_INSN_MAX;
}

static bool prefixes_take(struct parts *p)
{
	uint8_t byte;
	for (;;) {
		if (!take(p, &byte))
			return false;
		if (byte == 0x66)
			p->narrow = true;
		else if (byte != 0xf0 && byte != 0xf2 && byte != 0xf3 && byte != 0x2e &&
			 byte != 0x36 && byte != 0x3e && byte != 0x26 && byte != 0x64 &&
			 byte != 0x65 && byte != 0x67)
			break;
	}
	if (byte >= 0x40 && byte <= 0x4f) {
		p->rex = byte;
		if (!take(p, &byte))
			return false;
	}
	p->opcode = byte;
	return true;
}

/* Two, three or four bytes that stand for prefixes and map. */
static bool vex_take(struct parts *p)
{
	uint8_t byte, kind = p->opcode;
	p->is_vex = true;
	p->map = 1;
	if (!take(p, &byte))
		return false;
	if (kind != 0xc5) {
		p->map = byte & (kind == 0x62 ? 7 : 31);
		if (!take(p, &byte))
			return false;
	}
	if (kind == 0x62 && !take(p, &byte))
		return false;
	return take(p, &p->opcode) && p->map >= 1 && p->map <= 3;
}

static bool opcode_take(struct parts *p)
{
	if (!prefixes_take(p))
		return false;
	if (p->rex == 0 && (p->opcode == 0xc4 || p->opcode == 0xc5 || p->opcode == 0x62))
		return vex_take(p);
	if (p->opcode != 0x0f)
		return true;
	p->map = 1;
	if (!take(p, &p->opcode))
		return false;
	if (p->opcode != 0x38 && p->opcode != 0x3a)
		return true;
	p->map = p->opcode == 0x38 ? 2 : 3;
	return take(p, &p->opcode);
}

static bool one_byte_modrm(uint8_t o)
{
	if (o < 0x40)
		return (o & 7) < 4;
	return o == 0x63 || o == 0x69 || o == 0x6b || (o >= 0x80 && o <= 0x8f) || o == 0xc0 ||
	       o == 0xc1 || o == 0xc6 || o == 0xc7 || (o >= 0xd0 && o <= 0xd3) ||
	       (o >= 0xd8 && o <= 0xdf) || o == 0xf6 || o == 0xf7 || o == 0xfe || o == 0xff;
}

static bool two_byte_modrm(uint8_t o)
{
	return !((o >= 0x05 && o <= 0x09) || o == 0x0b || (o >= 0x30 && o <= 0x37) || o == 0x77 ||
		 (o >= 0x80 && o <= 0x8f) || (o >= 0xa0 && o <= 0xa2) || (o >= 0xa8 && o <= 0xaa) ||
		 (o >= 0xc8 && o <= 0xcf));
}

static uint8_t one_byte_immediate(const struct parts *p)
{
	uint8_t o = p->opcode, wide = p->narrow ? 2 : 4, group = (p->modrm >> 3) & 7;
	if (o < 0x40)
		return (o & 7) == 4 ? 1 : (o & 7) == 5 ? wide : 0;
	if (o >= 0xb8 && o <= 0xbf)
		return p->rex & 8 ? 8 : wide;
	if (o >= 0xa0 && o <= 0xa3)
		return 8;
	if (o == 0x68 || o == 0x69 || o == 0x81 || o == 0xc7 || o == 0xa9)
		return wide;
	if (o == 0xe8 || o == 0xe9)
		return 4;
	if (o == 0xc2 || o == 0xca)
		return 2;
	if (o == 0xc8)
		return 3;
	if (o == 0xf6 || o == 0xf7)
		return group > 1 ? 0 : o == 0xf6 ? 1 : wide;
	return o == 0x6a || o == 0x6b || (o >= 0x70 && o <= 0x7f) || o == 0x80 || o == 0x82 ||
	       o == 0x83 || o == 0xa8 || (o >= 0xb0 && o <= 0xb7) || o == 0xc0 || o == 0xc1 ||
	       o == 0xc6 || o == 0xcd || (o >= 0xe0 && o <= 0xe7) || o == 0xeb;
}

static uint8_t two_byte_immediate(const struct parts *p)
{
	uint8_t o = p->opcode;
	if (!p->is_vex && o >= 0x80 && o <= 0x8f)
		return 4;
	return (o >= 0x70 && o <= 0x73) || o == 0xa4 || o == 0xac || o == 0xba || o == 0xc2 ||
	       (o >= 0xc4 && o <= 0xc6);
}

/* ModRM with what belongs to it: SIB and displacement. */
static bool modrm_take(struct parts *p)
{
	uint8_t sib = 0;
	if (!take(p, &p->modrm))
		return false;
	uint8_t mod = p->modrm >> 6, rm = p->modrm & 7;
	if (mod == 3)
		return true;
	if (rm == 4 && !take(p, &sib))
		return false;
	if (mod == 1)
		p->at += 1;
	else if (mod == 2 || (mod == 0 && (rm == 5 || (rm == 4 && (sib & 7) == 5))))
		p->at += 4;
	return true;
}

static bool immediate_take(struct parts *p)
{
	uint64_t value = 0;
	if (!sw_bytes_copy(p->code, p->at, &value, p->immediate))
		return false;
	p->at += p->immediate;
	unsigned unused = 64 - 8 * p->immediate;
	p->value = p->immediate == 0 || p->immediate == 8 ? (int64_t) value
							  : (int64_t) (value << unused) >> unused;
	return true;
}

static bool parts_take(struct parts *p)
{
	if (!opcode_take(p))
		return false;
	p->has_modrm = p->map == 0   ? one_byte_modrm(p->opcode)
		       : p->map == 1 ? (p->is_vex ? p->opcode != 0x77 : two_byte_modrm(p->opcode))
				     : true;
	if (p->has_modrm && !modrm_take(p))
		return false;
	p->immediate = p->map == 0   ? one_byte_immediate(p)
		       : p->map == 1 ? two_byte_immediate(p)
				     : p->map == 3;
	return immediate_take(p) && p->at <= SW_V8_INSN_MAX && p->at <= p->code.size;
}

/* ---- what it does -------------------------------------------------------------------------- */

static uint8_t reg_of(const struct parts *p)
{
	return (uint8_t) ((p->modrm >> 3 & 7) | (p->rex & 4) << 1);
}

static uint8_t rm_of(const struct parts *p)
{
	return (uint8_t) ((p->modrm & 7) | (p->rex & 1) << 3);
}

static bool is_register(const struct parts *p)
{
	return p->has_modrm && p->modrm >> 6 == 3;
}

/* A general register that the instruction sets as its result, for those that compute. */
static uint8_t result_of(const struct parts *p)
{
	uint8_t o = p->opcode;
	if (o < 0x40 && (o & 7) < 4 && o < 0x38) /* add ... xor; cmp sets nothing */
		return o & 2 ? reg_of(p) : is_register(p) ? rm_of(p) : SW_V8_INSN_NO_REG;
	if (o == 0x89 || o == 0xc7 || o == 0x8f || o == 0xd1 || o == 0xd3 || o == 0xc1 || o == 0xff)
		return is_register(p) ? rm_of(p) : SW_V8_INSN_NO_REG;
	if (o == 0x81 || o == 0x83)
		return is_register(p) && (p->modrm >> 3 & 7) != 7 ? rm_of(p) : SW_V8_INSN_NO_REG;
	if (o == 0x8b || o == 0x8d || o == 0x63)
		return reg_of(p);
	return SW_V8_INSN_NO_REG;
}

static void computed(const struct parts *p, struct sw_v8_insn *ret)
{
	uint8_t o = p->opcode, group = p->modrm >> 3 & 7, result = result_of(p);
	if (result == RSP) {
		ret->kind = SW_V8_INSN_SET_SP;
		if ((o == 0x89 && reg_of(p) == RBP) ||
		    (o == 0x8b && is_register(p) && rm_of(p) == RBP))
			ret->kind = SW_V8_INSN_UNFRAME;
		if ((o == 0x81 || o == 0x83) && (group == 0 || group == 5)) {
			ret->kind = SW_V8_INSN_ADD_SP;
			ret->value = group == 0 ? p->value : -p->value;
		}
	} else if (result == RBP) {
		ret->kind = SW_V8_INSN_SET_FP;
		if ((o == 0x89 && reg_of(p) == RSP) ||
		    (o == 0x8b && is_register(p) && rm_of(p) == RSP))
			ret->kind = SW_V8_INSN_FRAME;
	}
}

static void group_ff(const struct parts *p, struct sw_v8_insn *ret)
{
	switch (p->modrm >> 3 & 7) {
	case 2:
	case 3: ret->kind = SW_V8_INSN_CALL_FAR; break;
	case 4:
	case 5: ret->kind = SW_V8_INSN_JUMP_FAR; break;
	case 6: ret->kind = SW_V8_INSN_PUSH; break;
	default: computed(p, ret); break;
	}
}

static void one_byte(const struct parts *p, struct sw_v8_insn *ret)
{
	uint8_t o = p->opcode;
	if (o >= 0x50 && o <= 0x5f) {
		ret->kind = o < 0x58 ? SW_V8_INSN_PUSH : SW_V8_INSN_POP;
		ret->reg = (uint8_t) ((o & 7) | (p->rex & 1) << 3);
		return;
	}
	bool relative = (o >= 0x70 && o <= 0x7f) || (o >= 0xe0 && o <= 0xe3) || o == 0xe8 ||
			o == 0xe9 || o == 0xeb;
	ret->value = relative ? p->value + (int64_t) p->at : p->value;
	switch (o) {
	case 0x68:
	case 0x6a: ret->kind = SW_V8_INSN_PUSH; return;
	case 0x8f: ret->kind = SW_V8_INSN_POP; return;
	case 0xc2:
	case 0xc3: ret->kind = SW_V8_INSN_RETURN; return;
	case 0xc9: ret->kind = SW_V8_INSN_LEAVE; return;
	case 0xcc:
	case 0xf4: ret->kind = SW_V8_INSN_TRAP; return;
	case 0xe8: ret->kind = SW_V8_INSN_CALL; return;
	case 0xe9:
	case 0xeb: ret->kind = SW_V8_INSN_JUMP; return;
	case 0xff: group_ff(p, ret); return;
	default: break;
	}
	if (relative)
		ret->kind = SW_V8_INSN_BRANCH;
	else
		computed(p, ret);
}

bool sw_v8_insn_decode(struct sw_bytes code, struct sw_v8_insn *ret)
{
	struct parts p = {.code = code};
	if (!parts_take(&p))
		return false;
	*ret = (struct sw_v8_insn){.length = (uint8_t) p.at, .reg = SW_V8_INSN_NO_REG};
	if (p.map == 0) {
		one_byte(&p, ret);
	} else if (p.map == 1 && !p.is_vex && p.opcode >= 0x80 && p.opcode <= 0x8f) {
		ret->kind = SW_V8_INSN_BRANCH;
		ret->value = p.value + (int64_t) p.at;
	} else if (p.map == 1 && !p.is_vex && p.opcode == 0x0b) {
		ret->kind = SW_V8_INSN_TRAP;
	}
	return true;
}
