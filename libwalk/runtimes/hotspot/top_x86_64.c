/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sources: MacroAssembler::verified_entry(), C1_MacroAssembler::build_frame() and remove_frame(),
 * MachPrologNode and MachEpilogNode of x86_64.ad, InterpreterMacroAssembler::remove_activation(),
 * TemplateInterpreterGenerator::generate_fixed_frame(), OptoRuntime::generate_exception_blob(),
 * SharedRuntime::generate_i2c2i_adapters(); src/hotspot of jdk-17.0.15 and jdk-25.0.3.
 */
#include "runtimes/hotspot/top.h"
#include "arch/arch.h"
#include "bytes.h"
#include "cleanup.h"
#include "runtimes/hotspot/onward.h"
#include "runtimes/hotspot/structures/codelets.h"

#include <string.h>

enum {
	BEFORE_BYTES = 64, /* of code that are looked at */
	AFTER_BYTES = 64,
	ENTRY_BYTES = 512,    /* from the start of an entry point to its frame; it has 130 */
	PROLOGUE_BYTES = 128, /* of a stub */
	SENDER_MAX = 1 << 20,
};

/* Code about pc: at[0] is at pc. */
struct code {
	uint8_t bytes[BEFORE_BYTES + AFTER_BYTES];
	const uint8_t *at;
	size_t before, after; /* that are there */
};

static bool code_read(const struct sw_hotspot_frame *f, struct code *ret)
{
	uint64_t before = f->pc - f->blob->code_avma, after = f->blob->code_end_avma - f->pc;
	memset(ret->bytes, 0, sizeof(ret->bytes));
	ret->before = before < BEFORE_BYTES ? (size_t) before : BEFORE_BYTES;
	ret->after = after < AFTER_BYTES ? (size_t) after : AFTER_BYTES;
	ret->at = ret->bytes + BEFORE_BYTES;
	return sw_memory_read(f->h->memory, f->pc - ret->before,
			      ret->bytes + BEFORE_BYTES - ret->before, ret->before + ret->after);
}

/* The bytes that begin off from pc are these; '?' stands for any. */
static bool is_code(const struct code *c, long off, const char *hex)
{
	long length = (long) strlen(hex) / 2;
	if (off < -(long) c->before || off + length > (long) c->after)
		return false;
	for (long i = 0; i < length; i++) {
		unsigned value = 0;
		if (hex[2 * i] == '?')
			continue;
		for (int k = 0; k < 2; k++) {
			char d = hex[2 * i + k];
			value = value * 16 + (unsigned) (d <= '9' ? d - '0' : d - 'a' + 10);
		}
		if (c->at[off + i] != value)
			return false;
	}
	return true;
}

/* ---- compiled methods ----------------------------------------------------------------------- */

/* sub $imm, %rsp at off; its length, 0 when it is another instruction. */
static long sub_rsp(const struct code *c, long off, uint64_t *ret_imm)
{
	uint32_t imm;
	if (is_code(c, off, "4883ec??")) {
		*ret_imm = c->at[off + 3];
		return 4;
	}
	if (!is_code(c, off, "4881ec????????"))
		return 0;
	memcpy(&imm, c->at + off + 3, sizeof(imm));
	*ret_imm = imm;
	return 7;
}

/* mov %rbp, imm(%rsp) lies between off and pc. */
static bool rbp_is_saved(const struct code *c, long off)
{
	for (; off < 0; off++)
		if ((is_code(c, off, "48896c24??") && off + 5 <= 0) ||
		    (is_code(c, off, "4889ac24????????") && off + 8 <= 0))
			return true;
	return false;
}

/* The same with push, right before off: with or without mov %rsp, %rbp behind it. */
static bool is_pushed(const struct code *c, long off)
{
	return is_code(c, off - 1, "55") || is_code(c, off - 4, "55488bec") ||
	       is_code(c, off - 4, "554889e5");
}

/*
 * A prologue that pc is in or near behind: push %rbp; sub $frame - 16, or sub $frame - 8; mov %rbp,
 * frame - 16(%rsp). The frame's size in the instruction is what makes it one.
 */
static bool prologue_step(const struct sw_hotspot_frame *f, const struct code *c,
			  struct sw_hotspot_caller *ret)
{
	uint64_t imm, cfa = f->sp + f->blob->frame_bytes;
	for (long off = -(long) c->before; off < 0; off++) {
		long length = sub_rsp(c, off, &imm);
		if (length == 0 || off + length > 0)
			continue;
		if (imm + 16 == f->blob->frame_bytes && is_pushed(c, off))
			return sw_hotspot_frame_at(f, cfa, ret);
		if (imm + 8 != f->blob->frame_bytes)
			continue;
		if (rbp_is_saved(c, off + length))
			return sw_hotspot_frame_at(f, cfa, ret);
		return sw_hotspot_return_at(f, cfa - 8, ret);
	}
	if (is_pushed(c, 0)) {
		if (!sw_hotspot_return_at(f, f->sp + 8, ret))
			return false;
		ret->fp_known = sw_hotspot_word(f, f->sp, &ret->fp);
		return true;
	}
	return sw_hotspot_return_at(f, f->sp, ret);
}

/* The instructions behind pop %rbp: a poll of the safepoint, and ret. */
static bool frame_is_gone(const struct code *c)
{
	static const struct {
		const char *here;
		long before_off;
		const char *before;
	} places[] = {
		{"c3", 0, ""},
		{"493ba7????????0f87", -1, "5d"}, /* cmp poll(%r15), %rsp; ja */
		{"493b67??0f87", -1, "5d"},
		{"0f87????????c3", -8, "5d493ba7????????"},
		{"0f87????????c3", -5, "5d493b67??"},
		/* The slow path of that: lea pc, %r10; mov %r10, pc(%r15); jmp. */
		{"4c8d15????????4d8997", 0, ""},
		{"4d8997????????e9", -7, "4c8d15????????"},
		{"e9", -14, "4c8d15????????4d8997????????"},
		/* 11: mov poll(%r15), %r10; test %eax, (%r10); 8: test %eax, poll(%rip). */
		{"4d8b97????????418502c3", -1, "5d"},
		{"418502c3", -8, "5d4d8b97????????"},
		{"8505????????c3", -1, "5d"},
		/* C1: mov $pc, %r10; mov %r10, pc(%r15); jmp. */
		{"49ba????????????????4d8997????????e9", 0, ""},
		{"4d8997????????e9", -10, "49ba????????????????"},
		{"e9", -17, "49ba????????????????4d8997????????"},
		/* To what takes an exception to the caller's handler. */
		{"e9", -5, "4883c4??5d"},
		{"e9", -8, "4881c4????????5d"},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(places); i++)
		if (is_code(c, 0, places[i].here) &&
		    is_code(c, places[i].before_off, places[i].before))
			return true;
	return false;
}

static bool at_last_pop(const struct code *c)
{
	return (is_code(c, 0, "5de9") &&
		(is_code(c, -4, "4883c4??") || is_code(c, -7, "4881c4????????"))) ||
	       is_code(c, 0, "5dc3") || is_code(c, 0, "5d493ba7") || is_code(c, 0, "5d493b67") ||
	       is_code(c, 0, "5d4d8b97") || is_code(c, 0, "5d8505");
}

/*
 * A wrapper of a native method ends in leave, a poll of the safepoint (since 25 behind it), a look for a
 * pending exception, ret, and a jump to what throws that: whatever pc is at of these has no frame.
 */
static bool is_behind_leave(const struct code *c)
{
	static const char *const instructions[] = {
		"41f647??01", /* testb $1, poll(%r15) */
		"41f687????????01",
		"49ba????????????????", /* mov $pc, %r10; mov %r10, pc(%r15); jmp */
		"4d8957??",
		"4d8997????????",
		"e9????????",
		"74??",
		"0f84????????",
		"49837f??00", /* cmpq $0, exception(%r15) */
		"4983bf????????00",
		"49817f??00000000",
		"4981bf????????00000000",
		"75??",
		"0f85????????",
		"c3",
	};
	for (long off = -(long) c->before; off < 0; off++) {
		long at = off + 1;
		if (!is_code(c, off, "c9"))
			continue;
		for (size_t i = 0; at < 0 && i < SW_ARRAY_SIZE(instructions);) {
			bool last = is_code(c, at - 1, "c3e9");
			bool here = !last && is_code(c, at, instructions[i]);
			at += here ? (long) strlen(instructions[i]) / 2 : 0;
			i = here ? 0 : i + 1;
		}
		if (at == 0)
			return true;
	}
	return false;
}

bool sw_hotspot_top_compiled(const struct sw_hotspot_frame *f, struct sw_hotspot_caller *ret)
{
	struct code c;
	if (!code_read(f, &c))
		return false;
	if (at_last_pop(&c) && sw_hotspot_return_at(f, f->sp + 8, ret)) {
		ret->fp_known = sw_hotspot_word(f, f->sp, &ret->fp);
		return true;
	}
	bool gone = f->blob->kind == SW_HOTSPOT_NATIVE ? is_behind_leave(&c) || frame_is_gone(&c)
						       : frame_is_gone(&c);
	if (gone && sw_hotspot_return_at(f, f->sp, ret))
		return true;
	bool complete = f->blob->frame_complete >= 0 &&
			f->pc - f->blob->code_avma >= (uint64_t) f->blob->frame_complete;
	return !complete && prologue_step(f, &c, ret);
}

/* ---- stubs of the runtime ------------------------------------------------------------------- */

/* The effect on the stack of the instructions from the start of a stub. */
struct pushed {
	uint64_t bytes; /* below the return address */
	uint64_t rbp;   /* where the caller's rbp is: bytes below the return address; 0: nowhere */
};

/* The length of one instruction of a prologue, and what it does; 0: another one. */
static size_t prologue_instruction(struct sw_bytes b, struct pushed *p)
{
	uint8_t c[8] = {0};
	uint32_t imm;
	(void) sw_bytes_copy(b, 0, c, b.size < sizeof(c) ? b.size : sizeof(c)); /* fits */
	size_t prefix = c[0] == 0x41;
	if (c[prefix] >= 0x50 && c[prefix] <= 0x57) {
		p->bytes += 8;
		if (c[0] == 0x55)
			p->rbp = p->bytes;
		return prefix + 1;
	}
	memcpy(&imm, c + 3, sizeof(imm));
	if (c[0] == 0x9c || c[0] == 0x90 || c[0] == 0xfc) { /* pushf, nop, cld */
		p->bytes += c[0] == 0x9c ? 8 : 0;
		return 1;
	}
	if (memcmp(c, "\x48\x83\xec", 3) == 0) {
		p->bytes += c[3];
		return 4;
	}
	if (memcmp(c, "\x48\x81\xec", 3) == 0) {
		p->bytes += imm;
		return 7;
	}
	if (memcmp(c, "\x48\x8b\xec", 3) == 0 || memcmp(c, "\x48\x89\xe5", 3) == 0)
		return 3;
	if (memcmp(c, "\x48\x89\x6c\x24", 4) == 0) { /* mov %rbp, imm8(%rsp) */
		if (p->rbp == 0)                     /* else it is the stub's own by now */
			p->rbp = p->bytes - c[4];
		return 5;
	}
	/* Stubs of C1 save all registers: mov %reg, imm8(%rsp), mov %reg, (%rsp). */
	if ((c[0] & 0xfb) == 0x48 && c[1] == 0x89 && c[3] == 0x24 && (c[2] & 0xc7) == 0x44)
		return 5;
	if ((c[0] & 0xfb) == 0x48 && c[1] == 0x89 && c[3] == 0x24 && (c[2] & 0xc7) == 0x04)
		return 4;
	if (memcmp(c, "\xf3\x0f\x1e\xfa", 4) == 0)
		return 4;
	return 0;
}

/* ExceptionBlob and "rethrow_exception" are jumped to, with the return address in rdx: they push it. */
static bool is_jumped_to(const struct sw_hotspot_blob *b)
{
	return strcasestr(b->name, "exception") != NULL || strstr(b->name, "rethrow") != NULL;
}

/* leave; pop %rcx; jmp *%rcx: C1's way to the handler of an exception, to which the return address was changed. */
static bool handler_jump(const struct sw_hotspot_frame *f, struct sw_hotspot_caller *ret)
{
	static const uint8_t jump[] = {0xc9, 0x59, 0xff, 0xe1};
	uint8_t code[sizeof(jump)];
	if (f->pc - f->blob->code_avma < 2 ||
	    !sw_memory_read(f->h->memory, f->pc - 2, code, sizeof(code)) ||
	    memcmp(code, jump, sizeof(jump)) != 0)
		return false;
	*ret = (struct sw_hotspot_caller){.sp = f->sp, .fp = f->fp, .fp_known = f->fp_known};
	return sw_regs_get(&f->cursor->regs, SW_X86_64_RCX, &ret->pc) &&
	       sw_hotspot_is_return(f, ret->pc);
}

bool sw_hotspot_top_stub(const struct sw_hotspot_frame *f, struct sw_hotspot_caller *ret)
{
	uint8_t code[PROLOGUE_BYTES];
	uint64_t offset = f->pc - f->blob->code_avma, size, at = 0, rdx;
	struct pushed p = {0};
	if (handler_jump(f, ret))
		return true;
	size = f->blob->code_end_avma - f->blob->code_avma;
	if (offset >= sizeof(code))
		return false;
	if (size > sizeof(code))
		size = sizeof(code);
	if (!sw_memory_read(f->h->memory, f->blob->code_avma, code, (size_t) size))
		return false;
	bool jumped_to = code[0] == 0x52 && is_jumped_to(f->blob);
	while (at < offset) {
		size_t n = prologue_instruction((struct sw_bytes){code + at, (size_t) (size - at)},
						&p);
		if (n == 0)
			return false;
		at += n;
	}
	if (at != offset || (f->blob->frame_bytes != 0 && p.bytes + 8 > f->blob->frame_bytes))
		return false;
	if (jumped_to && offset == 0) {
		*ret = (struct sw_hotspot_caller){.sp = f->sp,
						  .fp = f->fp,
						  .fp_known = f->fp_known};
		if (!sw_regs_get(&f->cursor->regs, SW_X86_64_RDX, &rdx) ||
		    !sw_hotspot_is_return(f, rdx))
			return false;
		ret->pc = rdx;
		return true;
	}
	if (jumped_to) /* what was pushed is the return address */
		p.bytes -= 8;
	if (!sw_hotspot_return_at(f, f->sp + p.bytes, ret))
		return false;
	if (p.rbp != 0 && p.rbp <= p.bytes)
		ret->fp_known = sw_hotspot_word(f, f->sp + p.bytes - p.rbp, &ret->fp);
	return true;
}

/* ---- the interpreter ------------------------------------------------------------------------ */

/* Offsets in an entry point: pop %rax takes the return address off the stack; push %rax; push %rbp;
 * mov %rsp, %rbp; push %r13 begin the frame. -1: it has none. */
struct entry {
	long pop, push;
};

static void entry_read(const struct sw_hotspot *h, const struct sw_hotspot_codelet *c,
		       struct entry *ret)
{
	static const uint8_t pop[] = {0x58, 0x4c, 0x8d, 0x74, 0xcc, 0xf8};
	static const uint8_t push[] = {0x50, 0x55, 0x48, 0x8b, 0xec, 0x41, 0x55};
	uint8_t code[ENTRY_BYTES];
	uint64_t size = c->end_avma - c->start_avma;
	*ret = (struct entry){-1, -1};
	if (size > sizeof(code))
		size = sizeof(code);
	if (!sw_memory_read(h->memory, c->start_avma, code, (size_t) size))
		return;
	const uint8_t *p = memmem(code, (size_t) size, pop, sizeof(pop));
	const uint8_t *q = memmem(code, (size_t) size, push, sizeof(push));
	if (p != NULL && q != NULL && p < q)
		*ret = (struct entry){p - code, q - code};
}

/* The sender's sp, which r13 has before there is a frame. */
static uint64_t sender_sp(const struct sw_hotspot_frame *f, uint64_t otherwise)
{
	uint64_t r13;
	if (sw_regs_get(&f->cursor->regs, SW_X86_64_R13, &r13) && r13 >= f->sp &&
	    r13 - f->sp < SENDER_MAX)
		return r13;
	return otherwise;
}

static bool in_register(const struct sw_hotspot_frame *f, unsigned number, uint64_t sp,
			struct sw_hotspot_caller *ret)
{
	*ret = (struct sw_hotspot_caller){.sp = sp, .fp = f->fp, .fp_known = f->fp_known};
	return sw_regs_get(&f->cursor->regs, number, &ret->pc) && sw_hotspot_is_return(f, ret->pc);
}

static bool entry_step(const struct sw_hotspot_frame *f, const struct sw_hotspot_codelet *codelet,
		       struct sw_hotspot_caller *ret)
{
	struct entry entry;
	long off = (long) (f->pc - codelet->start_avma);
	entry_read(f->h, codelet, &entry);
	if (entry.push >= 0 && off == entry.push + 5) { /* rbp is set, but r13 is not there yet */
		bool ok = sw_hotspot_return_at(f, f->sp + 8, ret);
		ret->fp_known = sw_hotspot_word(f, f->sp, &ret->fp);
		ret->sp = sender_sp(f, ret->sp);
		return ok && ret->fp_known;
	}
	if (entry.push >= 0 && off > entry.push + 2)
		return false;
	if (entry.push >= 0 && off > entry.pop && off <= entry.push)
		return in_register(f, SW_X86_64_RAX, sender_sp(f, f->sp), ret);
	bool rbp_pushed = entry.push >= 0 && off == entry.push + 2;
	if (!sw_hotspot_return_at(f, f->sp + (rbp_pushed ? 8 : 0), ret))
		return false;
	if (rbp_pushed)
		ret->fp_known = sw_hotspot_word(f, f->sp, &ret->fp);
	ret->sp = sender_sp(f, ret->sp);
	return true;
}

/* leave; ...; pop %r13; mov %rbx, %rsp; ...; jmp *%r13: the end of a return. */
static bool return_step(const struct sw_hotspot_frame *f, struct sw_hotspot_caller *ret)
{
	static const struct {
		const char *pop, *jump;
		long pop_bytes;
		unsigned pc, sp;
	} ends[] = {
		{"415d488be3", "41ffe5", 2, SW_X86_64_R13, SW_X86_64_RBX},
		{"5f498be3", "ffe7", 1, SW_X86_64_RDI, SW_X86_64_R11},
	};
	struct code c;
	uint64_t sp;
	if (!code_read(f, &c))
		return false;
	for (size_t i = 0; i < SW_ARRAY_SIZE(ends); i++) {
		for (long off = -48; off <= 16; off++) {
			if (!is_code(&c, off, ends[i].pop))
				continue;
			long leave = off - 1;
			while (leave > off - 12 && !is_code(&c, leave, "c9"))
				leave--;
			if (leave >= 0 || !is_code(&c, leave, "c9"))
				break;
			bool jumping = off < 0 && off + ends[i].pop_bytes < 0;
			long jump = 0;
			while (jumping && jump < 40 && !is_code(&c, jump, ends[i].jump))
				jump++;
			if (jumping && jump == 40)
				break;
			if (jumping)
				return in_register(f, ends[i].pc, f->sp, ret);
			if (!sw_regs_get(&f->cursor->regs, ends[i].sp, &sp) || sp < f->sp)
				break;
			if (off < 0)
				return in_register(f, ends[i].pc, sp, ret);
			bool ok = sw_hotspot_return_at(f, f->sp, ret);
			ret->sp = sp;
			return ok;
		}
	}
	return false;
}

bool sw_hotspot_top_interpreter(const struct sw_hotspot_frame *f, struct sw_hotspot_caller *ret)
{
	const struct sw_hotspot_codelet *codelet = sw_hotspot_codelet_at(f->h, f->pc);
	if (codelet != NULL && codelet->entry && entry_step(f, codelet, ret))
		return true;
	return return_step(f, ret) || sw_hotspot_throwing(f, ret);
}

bool sw_hotspot_at_entry(struct sw_hotspot *h, const struct sw_hotspot_blob *blob, uint64_t pc)
{
	struct entry entry;
	const struct sw_hotspot_codelet *codelet =
		blob->kind == SW_HOTSPOT_INTERPRETER ? sw_hotspot_codelet_at(h, pc) : NULL;
	if (codelet == NULL || !codelet->entry)
		return false;
	entry_read(h, codelet, &entry);
	/* The method is pushed some instructions behind the frame's begin; rbx has it until then. */
	return entry.push < 0 || (long) (pc - codelet->start_avma) < entry.push + 40;
}
