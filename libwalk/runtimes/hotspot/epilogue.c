/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Stubs that have saved all registers load them again from rsp, one by one, and then add to rsp, leave
 * and return. Sources: restore_live_registers() of c1_Runtime1_x86.cpp and RegisterSaver of
 * sharedRuntime_x86_64.cpp; src/hotspot/cpu/x86 of jdk-17.0.15 and jdk-25.0.3. Encodings: Intel SDM,
 * volume 2, chapter 2.
 */
#include "runtimes/hotspot/epilogue.h"

#include <string.h>

enum { INSTRUCTIONS_MAX = 96, INSTRUCTION_BYTES = 16, RBP = 5 };

/* What rsp and rbp are in front of an instruction. */
struct taken_down {
	uint64_t sp, fp;
	bool fp_known;
};

/* A load from rsp + displacement behind an opcode that ends at off: its length, 0 when it is not one. */
static size_t rsp_operand(const uint8_t *c, size_t off, uint64_t *ret_disp)
{
	int32_t disp;
	if ((c[off] & 7) != 4 || c[off + 1] != 0x24)
		return 0;
	switch (c[off] >> 6) {
	case 0: *ret_disp = 0; return off + 2;
	case 1: *ret_disp = (uint64_t) (int64_t) (int8_t) c[off + 2]; return off + 3;
	case 2:
		memcpy(&disp, c + off + 2, sizeof(disp));
		*ret_disp = (uint64_t) (int64_t) disp;
		return off + 6;
	default: return 0;
	}
}

/* Loads of vector registers: SSE with its prefixes, VEX of two bytes; EVEX is not used for it. */
static size_t vector_load(const uint8_t *c)
{
	uint64_t disp;
	size_t at = 0;
	if (memcmp(c, "\xc5\xf8\x77", 3) == 0) /* vzeroupper */
		return 3;
	if (c[0] == 0xc5 && (c[2] == 0x10 || c[2] == 0x6f))
		return rsp_operand(c, 3, &disp);
	if (c[0] == 0xf2 || c[0] == 0xf3 || c[0] == 0x66)
		at++;
	if ((c[at] & 0xf0) == 0x40)
		at++;
	if (c[at] == 0x0f && (c[at + 1] == 0x10 || c[at + 1] == 0x6f))
		return rsp_operand(c, at + 2, &disp);
	return 0;
}

/* mov disp(%rsp), a register of 64 bits. */
static size_t load(const struct sw_hotspot_frame *f, const uint8_t *c, struct taken_down *t)
{
	uint64_t disp;
	if ((c[0] != 0x48 && c[0] != 0x4c) || c[1] != 0x8b)
		return 0;
	size_t n = rsp_operand(c, 2, &disp);
	if (n > 0 && c[0] == 0x48 && (c[2] >> 3 & 7) == RBP)
		t->fp_known = sw_hotspot_word(f, t->sp + disp, &t->fp);
	return n;
}

static size_t pop(const struct sw_hotspot_frame *f, const uint8_t *c, struct taken_down *t)
{
	size_t prefix = c[0] == 0x41;
	if (c[0] != 0x9d && (c[prefix] < 0x58 || c[prefix] > 0x5f))
		return 0;
	if (c[0] == 0x5d)
		t->fp_known = sw_hotspot_word(f, t->sp, &t->fp);
	t->sp += 8;
	return prefix + 1;
}

/* The length of an instruction that changes nothing but registers, rsp and rbp; 0: another one. */
static size_t instruction(const struct sw_hotspot_frame *f, const uint8_t *c, struct taken_down *t)
{
	int32_t imm;
	size_t n = load(f, c, t);
	if (n == 0)
		n = vector_load(c);
	if (n == 0)
		n = pop(f, c, t);
	if (n > 0)
		return n;
	if (memcmp(c, "\x48\x83\xc4", 3) == 0) { /* add $imm, %rsp */
		t->sp += c[3];
		return c[3] < 0x80 ? 4 : 0;
	}
	if (memcmp(c, "\x48\x81\xc4", 3) == 0) {
		memcpy(&imm, c + 3, sizeof(imm));
		t->sp += (uint64_t) (int64_t) imm;
		return imm > 0 ? 7 : 0;
	}
	if (c[0] == 0xc9 && t->fp_known) { /* leave */
		t->sp = t->fp + 8;
		t->fp_known = sw_hotspot_word(f, t->fp, &t->fp);
		return 1;
	}
	return 0;
}

bool sw_hotspot_epilogue(const struct sw_hotspot_frame *f, struct sw_hotspot_caller *ret)
{
	struct taken_down t = {f->sp, f->fp, f->fp_known};
	uint64_t pc = f->pc;
	for (size_t i = 0; i < INSTRUCTIONS_MAX && pc < f->blob->code_end_avma; i++) {
		uint8_t c[INSTRUCTION_BYTES] = {0};
		uint64_t left = f->blob->code_end_avma - pc;
		size_t size = left < sizeof(c) ? (size_t) left : sizeof(c);
		if (!sw_memory_read(f->h->memory, pc, c, size))
			return false;
		if (c[0] == 0xc3) {
			*ret = (struct sw_hotspot_caller){.sp = t.sp + 8,
							  .fp = t.fp,
							  .fp_known = t.fp_known};
			return t.sp >= f->sp && sw_hotspot_word(f, t.sp, &ret->pc) &&
			       sw_hotspot_is_return(f, ret->pc);
		}
		size_t n = instruction(f, c, &t);
		if (n == 0)
			return false;
		pc += n;
	}
	return false;
}
