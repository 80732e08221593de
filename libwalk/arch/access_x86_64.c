/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which memory an x86-64 instruction reads or writes, in 32-bit mode, too: for cores, which tell
 * the address of a fault but not what the instruction wanted there. Source: Intel SDM volume 2
 * (2023), chapter 2 and the opcode maps of appendix A. Memory that is modified counts as written:
 * the fault says so, too.
 */
#include "arch/access.h"
#include "arch/arch.h"
#include "bytes.h"
#include "arch/x86_decode.h"

#include <string.h>

enum {
	MAP_ONE = 0,
	MAP_0F = 1,
	MAP_0F38 = 2,
	MAP_0F3A = 3,
	ACCESS_BYTES_MAX = 64,
	PREFIXES_MAX = 14,
};

struct decoder {
	const struct sw_thread *thread;
	struct sw_bytes code;
	uint64_t at; /* offset of the next byte */
	bool failed;
	bool is_32bit;
	uint8_t rex; /* W R X B; not in 32-bit mode */
	uint8_t repeat, segment;
	bool vector;    /* VEX or EVEX */
	uint32_t scale; /* of a displacement of one byte: EVEX */
	uint8_t map, opcode, modrm;
};

static uint8_t next(struct decoder *d)
{
	uint8_t byte = 0;
	if (!sw_bytes_u8(d->code, d->at++, &byte))
		d->failed = true;
	return byte;
}

static uint64_t reg(struct decoder *d, unsigned number)
{
	uint64_t value = 0;
	if (!sw_regs_get(&d->thread->regs, sw_x86_dwarf_number(number), &value))
		d->failed = true;
	return value;
}

static uint64_t displacement(struct decoder *d, unsigned bytes)
{
	uint32_t word = 0;
	if (bytes == 1)
		return (uint64_t) (int64_t) (int8_t) next(d) * d->scale;
	if (bytes == 4 && !sw_bytes_u32(d->code, d->at, &word))
		d->failed = true;
	d->at += bytes;
	return (uint64_t) (int64_t) (int32_t) word;
}

/* In 32-bit mode of fs and gs the other way round, as struct sw_thread says. */
static uint64_t with_segment(const struct decoder *d, uint64_t avma)
{
	if (d->segment == (d->is_32bit ? 0x65 : 0x64))
		avma += d->thread->fs_base;
	else if (d->segment == (d->is_32bit ? 0x64 : 0x65))
		avma += d->thread->gs_base;
	return d->is_32bit ? (uint32_t) avma : avma;
}

/* Bytes behind the displacement: what rip is relative to is the end of the instruction. */
static unsigned immediate_bytes(const struct decoder *d)
{
	if (d->map == MAP_0F3A)
		return 1;
	if (d->map == MAP_0F)
		return (d->opcode >= 0x70 && d->opcode <= 0x73) || d->opcode == 0xa4 ||
				       d->opcode == 0xac || d->opcode == 0xba ||
				       d->opcode == 0xc2 || (d->opcode >= 0xc4 && d->opcode <= 0xc6)
			       ? 1
			       : 0;
	switch (d->opcode) {
	case 0x80:
	case 0x83:
	case 0xc0:
	case 0xc1:
	case 0xc6:
	case 0x6b: return 1;
	case 0x81:
	case 0xc7:
	case 0x69: return 4;
	case 0xf6: return (d->modrm & 0x38) <= 8 ? 1 : 0;
	case 0xf7: return (d->modrm & 0x38) <= 8 ? 4 : 0;
	default: return 0;
	}
}

/* The address that ModRM stands for, which is not a register. */
static uint64_t operand(struct decoder *d)
{
	unsigned mode = d->modrm >> 6, rm = d->modrm & 7;
	uint64_t avma;
	if (rm == 4) {
		uint8_t sib = next(d);
		unsigned index = (sib >> 3 & 7) | (d->rex & 2u) << 2;
		unsigned base = (sib & 7) | (d->rex & 1u) << 3;
		avma = index != 4 ? reg(d, index) << (sib >> 6) : 0;
		if ((sib & 7) == 5 && mode == 0)
			return with_segment(d, avma + displacement(d, 4));
		avma += reg(d, base);
	} else if (rm == 5 && mode == 0) {
		avma = displacement(d, 4);
		if (d->is_32bit)
			return with_segment(d, avma);
		return with_segment(d, avma + d->thread->regs.pc_avma + d->at + immediate_bytes(d));
	} else {
		avma = reg(d, rm | (d->rex & 1u) << 3);
	}
	if (mode == 1)
		avma += displacement(d, 1);
	else if (mode == 2)
		avma += displacement(d, 4);
	return with_segment(d, avma);
}

static void read_vex(struct decoder *d, uint8_t first)
{
	uint8_t p = next(d);
	static const uint8_t prefixes[4] = {0, 0x66, 0xf3, 0xf2};
	d->vector = true;
	d->map = MAP_0F;
	d->rex = (~p >> 5) & 4;
	if (first == 0xc4) {
		d->rex = (~p >> 5) & 7;
		d->map = p & 0x1f;
		p = next(d);
	}
	if (d->is_32bit)
		d->rex = 0;
	d->repeat = prefixes[p & 3];
	d->opcode = next(d);
}

/* Whole vectors only: what else there is scales displacements otherwise. */
static void read_evex(struct decoder *d)
{
	static const uint8_t prefixes[4] = {0, 0x66, 0xf3, 0xf2};
	uint8_t first = next(d), second = next(d), third = next(d);
	d->vector = true;
	d->map = first & 7;
	d->rex = d->is_32bit ? 0 : (~first >> 5) & 7;
	d->repeat = prefixes[second & 3];
	d->scale = 16u << (third >> 5 & 3);
	d->opcode = next(d);
	switch (d->opcode) {
	case 0x10:
	case 0x11:
	case 0x28:
	case 0x29:
	case 0x6f:
	case 0x7f:
	case 0xe7: d->failed |= d->map != MAP_0F || d->scale > 64 || (third & 0x10) != 0; break;
	default: d->failed = true;
	}
}

/* In 32-bit mode LES, LDS and BOUND begin so, with an operand in memory. */
static bool is_vector_prefix(const struct decoder *d)
{
	uint8_t following = 0;
	(void) sw_bytes_u8(d->code, d->at, &following); /* none: it does not end */
	return !d->is_32bit || following >> 6 == 3;
}

/* AMD's XOP begins as POP does, in whose ModRM these bits are not set; of it no operand is known. */
static bool is_xop(const struct decoder *d)
{
	uint8_t following = 0;
	(void) sw_bytes_u8(d->code, d->at, &following); /* none: it does not end */
	return (following & 0x1f) >= 8;
}

static void read_opcode(struct decoder *d)
{
	uint8_t byte = next(d);
	for (unsigned i = 0; i < PREFIXES_MAX; i++, byte = next(d)) {
		if (byte == 0xf2 || byte == 0xf3)
			d->repeat = byte;
		else if (byte == 0x64 || byte == 0x65)
			d->segment = byte;
		else if (byte != 0x66 && byte != 0xf0 && byte != 0x2e && byte != 0x36 &&
			 byte != 0x3e && byte != 0x26)
			break;
	}
	if (!d->is_32bit && (byte & 0xf0) == 0x40) {
		d->rex = byte & 15;
		byte = next(d);
	}
	if ((byte == 0xc4 || byte == 0xc5) && is_vector_prefix(d)) {
		read_vex(d, byte);
	} else if (byte == 0x62 && is_vector_prefix(d)) {
		read_evex(d);
	} else if (byte == 0x0f) {
		d->map = MAP_0F;
		d->opcode = next(d);
		if (d->opcode == 0x38 || d->opcode == 0x3a) {
			d->map = d->opcode == 0x38 ? MAP_0F38 : MAP_0F3A;
			d->opcode = next(d);
		}
	} else {
		d->opcode = byte;
		d->failed |= byte == 0x8f && is_xop(d);
	}
}

/* The access of an x87 instruction: bit n of a row is set where extension n of the opcode writes.
 * D9 /1 and DB /4, /6 have none. */
static enum sw_access_kind kind_x87(const struct decoder *d)
{
	static const uint8_t writes[8] = {0, 0xcc, 0, 0x8e, 0, 0xce, 0, 0xce};
	return (writes[d->opcode & 7] >> (d->modrm >> 3 & 7) & 1) != 0 ? SW_ACCESS_WRITE
								       : SW_ACCESS_READ;
}

/* The access to the one operand in memory; UNKNOWN for an opcode without ModRM. */
static enum sw_access_kind kind_one(const struct decoder *d)
{
	unsigned extension = d->modrm >> 3 & 7;
	if (d->opcode >= 0xd8 && d->opcode <= 0xdf)
		return kind_x87(d);
	if (d->opcode == 0x63 && d->is_32bit)
		return SW_ACCESS_UNKNOWN; /* ARPL */
	switch (d->opcode) {
	case 0x38:
	case 0x39:
	case 0x3a:
	case 0x3b:
	case 0x63:
	case 0x69:
	case 0x6b:
	case 0x84:
	case 0x85:
	case 0x8a:
	case 0x8b: return SW_ACCESS_READ;
	case 0x86 ... 0x89:
	case 0x8f:
	case 0xc0:
	case 0xc1:
	case 0xc6:
	case 0xc7:
	case 0xd0 ... 0xd3:
	case 0xfe: return SW_ACCESS_WRITE;
	case 0x80:
	case 0x81:
	case 0x83: return extension == 7 ? SW_ACCESS_READ : SW_ACCESS_WRITE;
	case 0xf6:
	case 0xf7: return extension == 2 || extension == 3 ? SW_ACCESS_WRITE : SW_ACCESS_READ;
	case 0xff: return extension <= 1 ? SW_ACCESS_WRITE : SW_ACCESS_READ;
	default: break;
	}
	if (d->opcode < 0x38 && (d->opcode & 7) < 4)
		return (d->opcode & 2) == 0 ? SW_ACCESS_WRITE : SW_ACCESS_READ;
	return SW_ACCESS_UNKNOWN;
}

static enum sw_access_kind kind_0f(const struct decoder *d)
{
	unsigned extension = d->modrm >> 3 & 7;
	switch (d->opcode) {
	case 0x11:
	case 0x13:
	case 0x17:
	case 0x29:
	case 0x2b:
	case 0x7f:
	case 0x90 ... 0x9f:
	case 0xa4:
	case 0xa5:
	case 0xab:
	case 0xac:
	case 0xad:
	case 0xb0:
	case 0xb1:
	case 0xb3:
	case 0xbb:
	case 0xc0:
	case 0xc1:
	case 0xc3:
	case 0xd6:
	case 0xe7: return SW_ACCESS_WRITE;
	case 0x7e: return d->repeat == 0xf3 ? SW_ACCESS_READ : SW_ACCESS_WRITE;
	case 0xba: return extension >= 5 ? SW_ACCESS_WRITE : SW_ACCESS_READ;
	case 0xc7: return extension == 1 ? SW_ACCESS_WRITE : SW_ACCESS_UNKNOWN;
	case 0x10:
	case 0x12:
	case 0x14 ... 0x16:
	case 0x28:
	case 0x2a:
	case 0x2c ... 0x2f:
	case 0x40 ... 0x70:
	case 0x74 ... 0x76:
	case 0xa3:
	case 0xaf:
	case 0xb6 ... 0xb8:
	case 0xbc ... 0xbf:
	case 0xc2:
	case 0xc4:
	case 0xc6:
	case 0xd0 ... 0xd5:
	case 0xd8 ... 0xe6:
	case 0xe8 ... 0xfe: return SW_ACCESS_READ;
	default: return SW_ACCESS_UNKNOWN;
	}
}

static enum sw_access_kind kind_0f38(const struct decoder *d)
{
	switch (d->opcode) {
	case 0x2e ... 0x2f:
	case 0x8e: return SW_ACCESS_WRITE;
	case 0x90 ... 0x93: return SW_ACCESS_UNKNOWN; /* gathered from many addresses */
	case 0xe0 ... 0xef: return d->vector ? SW_ACCESS_WRITE : SW_ACCESS_READ; /* cmpccxadd */
	case 0xf1: return d->repeat != 0xf2 && !d->vector ? SW_ACCESS_WRITE : SW_ACCESS_READ;
	case 0xf8: return SW_ACCESS_UNKNOWN; /* movdir64b: from memory to memory */
	case 0xf9:                           /* movdiri */
	case 0xfc: return SW_ACCESS_WRITE;   /* aadd */
	default: return SW_ACCESS_READ;
	}
}

static enum sw_access_kind kind_of(const struct decoder *d)
{
	switch (d->map) {
	case MAP_ONE: return kind_one(d);
	case MAP_0F: return kind_0f(d);
	case MAP_0F38: return kind_0f38(d);
	case MAP_0F3A:
		switch (d->opcode) {
		case 0x14 ... 0x17:
		case 0x19:
		case 0x1d:
		case 0x39: return SW_ACCESS_WRITE;
		default: return SW_ACCESS_READ;
		}
	default: return SW_ACCESS_UNKNOWN;
	}
}

static uint64_t word_bytes(const struct decoder *d)
{
	return d->is_32bit ? 4 : 8;
}

/* Instructions whose operand is not told by ModRM. Returns how many operands they have. */
static size_t implied(struct decoder *d, struct sw_access *ret)
{
	const uint64_t word = word_bytes(d);
	uint64_t sp = d->thread->regs.sp_avma;
	if (d->map != MAP_ONE || d->vector)
		return 0;
	if (d->is_32bit &&
	    (d->opcode & 0xfc) == 0xa0) { /* accumulator and an address in the code */
		uint64_t avma = with_segment(d, displacement(d, 4));
		ret[0] = (struct sw_access){d->opcode < 0xa2 ? SW_ACCESS_READ : SW_ACCESS_WRITE,
					    avma, word};
		return 1;
	}
	switch (d->opcode) {
	case 0x50 ... 0x57:
	case 0x68:
	case 0x6a:
	case 0x9c:
	case 0xe8: ret[0] = (struct sw_access){SW_ACCESS_WRITE, sp - word, word}; return 1;
	case 0x58 ... 0x5f:
	case 0x9d:
	case 0xc2:
	case 0xc3: ret[0] = (struct sw_access){SW_ACCESS_READ, sp, word}; return 1;
	case 0xc9: ret[0] = (struct sw_access){SW_ACCESS_READ, reg(d, 5), word}; return 1;
	case 0xa4:
	case 0xa5:
		ret[0] = (struct sw_access){SW_ACCESS_WRITE, reg(d, 7), word};
		ret[1] = (struct sw_access){SW_ACCESS_READ, with_segment(d, reg(d, 6)), word};
		return 2;
	case 0xaa:
	case 0xab: ret[0] = (struct sw_access){SW_ACCESS_WRITE, reg(d, 7), word}; return 1;
	case 0xa6:
	case 0xa7:
		ret[0] = (struct sw_access){SW_ACCESS_READ, reg(d, 7), word};
		ret[1] = (struct sw_access){SW_ACCESS_READ, with_segment(d, reg(d, 6)), word};
		return 2;
	case 0xac:
	case 0xad:
		ret[0] = (struct sw_access){SW_ACCESS_READ, with_segment(d, reg(d, 6)), word};
		return 1;
	case 0xae:
	case 0xaf: ret[0] = (struct sw_access){SW_ACCESS_READ, reg(d, 7), word}; return 1;
	default: return 0;
	}
}

static bool pushes(const struct decoder *d)
{
	unsigned extension = d->modrm >> 3 & 7;
	return d->map == MAP_ONE && !d->vector && d->opcode == 0xff &&
	       (extension == 2 || extension == 6);
}

size_t sw_arch_access(bool is_32bit, const struct sw_thread *thread, const uint8_t *code, size_t n,
		      struct sw_access ret[static SW_ACCESS_OPERANDS])
{
	struct decoder d = {.thread = thread, .code = {code, n}, .is_32bit = is_32bit, .scale = 1};
	read_opcode(&d);
	if (d.failed)
		return 0;
	size_t n_operands = implied(&d, ret);
	if (n_operands > 0)
		return d.failed ? 0 : n_operands;
	d.modrm = next(&d);
	enum sw_access_kind kind = kind_of(&d);
	if (d.failed || kind == SW_ACCESS_UNKNOWN)
		return 0;
	if (d.modrm >> 6 != 3) {
		ret[n_operands++] = (struct sw_access){kind, operand(&d), ACCESS_BYTES_MAX};
	}
	if (pushes(&d)) {
		uint64_t word = word_bytes(&d);
		ret[n_operands++] =
			(struct sw_access){SW_ACCESS_WRITE, thread->regs.sp_avma - word, word};
	}
	return d.failed ? 0 : n_operands;
}
