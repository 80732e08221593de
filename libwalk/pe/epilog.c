/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Epilogues. Which instructions may be one: Microsoft, "x64 prolog and epilog"; CoreCLR 10.0,
 * src/coreclr/unwinder/amd64/unwinder.cpp. Encodings: Intel SDM volume 2.
 */
#include "pe/epilog.h"
#include "arch/arch.h"
#include "bytes.h"
#include "arch/x86_decode.h"

enum {
	/* 15 pops of 2 bytes and the longest instruction that leaves, 7 bytes. */
	CODE_MAX = 64,
	POPS_MAX = 16,
};

/* The code from pc to the end of the function, and how far it was decoded. */
struct decoder {
	uint8_t buffer[CODE_MAX];
	struct sw_bytes code;
	size_t at;
};

static bool code_read(struct sw_pe_env *env, const struct sw_pe_function *function, uint32_t rva,
		      struct decoder *ret)
{
	if (rva < function->begin_rva || rva >= function->end_rva)
		return false;
	size_t size = function->end_rva - rva;
	if (size > CODE_MAX)
		size = CODE_MAX;
	ret->code = (struct sw_bytes){ret->buffer, size};
	ret->at = 0;
	return sw_memory_read(env->memory, env->base_avma + rva, ret->buffer, size);
}

static uint8_t peek(const struct decoder *d, size_t ahead)
{
	uint8_t byte = 0; /* add %al,(%rax): part of no epilogue */
	(void) sw_bytes_u8(d->code, d->at + ahead, &byte);
	return byte;
}

/* pop r: 58+r, with or without a REX prefix. True, and the register. */
static bool decode_pop(struct decoder *d, unsigned *ret_reg)
{
	uint8_t rex = (peek(d, 0) & 0xf0) == 0x40 ? peek(d, 0) : 0;
	uint8_t op = peek(d, rex != 0);
	if ((op & 0xf8) != 0x58)
		return false;
	*ret_reg = (op & 7U) | (rex & 1U) << 3;
	if (*ret_reg == SW_PE_REG_RSP)
		return false;
	d->at += rex != 0 ? 2 : 1;
	return true;
}

enum leave { LEAVE_NOT, LEAVE_RETURN, LEAVE_JUMP, LEAVE_JUMP_TO };

/* The instruction that leaves the function; LEAVE_JUMP_TO: *ret_target_rva is where. */
static enum leave decode_leave(struct decoder *d, uint32_t rva, uint32_t *ret_target_rva)
{
	if (peek(d, 0) == 0xf2) /* bnd */
		d->at++;
	uint8_t first = peek(d, 0), second = peek(d, 1);
	switch (first) {
	case 0xc3:
	case 0xc2: return LEAVE_RETURN;
	case 0xf3: return second == 0xc3 ? LEAVE_RETURN : LEAVE_NOT;
	case 0xff: return second == 0x25 ? LEAVE_JUMP : LEAVE_NOT; /* jmp *disp32(%rip) */
	case 0xeb:
		if (!sw_bytes_has(d->code, d->at, 2))
			return LEAVE_NOT;
		*ret_target_rva = rva + (uint32_t) d->at + 2 + (uint32_t) (int8_t) second;
		return LEAVE_JUMP_TO;
	case 0xe9:
		if (!sw_bytes_u32(d->code, d->at + 1, ret_target_rva))
			return LEAVE_NOT;
		*ret_target_rva += rva + (uint32_t) d->at + 5;
		return LEAVE_JUMP_TO;
	default:
		/* REX.W jmp: the prefix does nothing but tell it from a switch's jump */
		return (first & 0xf8) == 0x48 && second == 0xff && (peek(d, 2) & 0x38) == 0x20
			       ? LEAVE_JUMP
			       : LEAVE_NOT;
	}
}

/*
 * A jump leaves the function if nothing of a frame is there where it goes: that is the start of a
 * function, this one included. Otherwise both ends are in the body of functions that share a frame:
 * a loop, or the parts of a split function, chained or (gcc's .cold) each with codes of its own.
 */
static bool jump_leaves(struct sw_pe_env *env, const struct sw_pe_function *function,
			uint32_t target_rva)
{
	bool inside = target_rva >= function->begin_rva && target_rva < function->end_rva;
	struct sw_pe_function to = *function;
	struct sw_pe_draft there;
	if (!inside &&
	    (env->table.find == NULL || !env->table.find(env->table.arg, target_rva, &to)))
		return true;
	if (sw_pe_rule_make_body(env, &to, target_rva, &there) != SW_PE_OK)
		return !inside;
	return there.rule.n_ops == 0 && there.rule.end_off == 0 && !there.rule.machine;
}

static bool epilog_decoded(struct sw_pe_env *env, const struct sw_pe_function *function,
			   const struct sw_pe_info *info, uint32_t rva, struct sw_pe_draft *draft)
{
	/* Nothing was pushed, so there is nothing to pop. */
	if (info->n_slots == 0 && !(info->flags & SW_PE_CHAININFO))
		return false;
	struct decoder d;
	unsigned pops[POPS_MAX];
	size_t n = 0;
	uint32_t target;
	if (!code_read(env, function, rva, &d))
		return false;
	while (n < POPS_MAX && decode_pop(&d, &pops[n]))
		n++;
	switch (decode_leave(&d, rva, &target)) {
	case LEAVE_NOT: return false;
	case LEAVE_RETURN:
	case LEAVE_JUMP: break;
	case LEAVE_JUMP_TO:
		if (!jump_leaves(env, function, target))
			return false;
	}
	for (size_t i = 0; i < n; i++)
		(void) sw_pe_draft_add(draft, SW_PE_LOAD, sw_x86_dwarf_number(pops[i]),
				       i * SW_ARCH_WORD); /* has space: it is empty */
	draft->rule.end_off = n * SW_ARCH_WORD;
	return true;
}

/* Whether one of the listed epilogues holds rva, and how far into it. */
static bool epilog_listed(const struct sw_pe_epilogs *epilogs,
			  const struct sw_pe_function *function, uint32_t rva, uint32_t *ret_at)
{
	*ret_at = rva - (function->end_rva - epilogs->bytes);
	if (epilogs->at_end && *ret_at < epilogs->bytes)
		return true;
	for (size_t i = 0; i < epilogs->n; i++) {
		*ret_at = rva - (function->end_rva - epilogs->from_end[i]);
		if (*ret_at < epilogs->bytes)
			return true;
	}
	return false;
}

/* How far an epilogue's pops, which are the prologue's pushes backwards, have been followed. */
struct pops {
	uint32_t at;   /* of pc in the epilogue */
	uint32_t code; /* bytes of instructions so far */
	bool begun;    /* what lies before the first push was freed before the epilogue */
	bool done;
	bool full; /* more pops than a rule has space for */
};

static void pop_code(struct pops *p, const struct sw_pe_code *code, struct sw_pe_draft *draft)
{
	bool popped = p->code < p->at;
	if (code->op == SW_PE_PUSH_NONVOL) {
		p->begun = true;
		p->code += code->info >= 8 ? 2 : 1;
		if (popped)
			return;
		p->full |= !sw_pe_draft_add(draft, SW_PE_LOAD, sw_x86_dwarf_number(code->info),
					    draft->rule.end_off);
		draft->rule.end_off += SW_ARCH_WORD;
	} else if (code->op == SW_PE_PUSH_MACHFRAME) {
		draft->rule.machine = p->done = true;
		draft->rule.end_off += code->info ? SW_ARCH_WORD : 0;
	} else if (p->begun && code->op == SW_PE_ALLOC_SMALL && code->info == 0) {
		p->code++; /* popfq */
		draft->rule.end_off += popped ? 0 : SW_ARCH_WORD;
	} else {
		p->done = p->begun;
	}
}

/* False: a parent cannot be read, or there are too many pops. */
static bool epilog_popped(struct sw_pe_env *env, const struct sw_pe_info *first, uint32_t at,
			  struct sw_pe_draft *draft)
{
	struct pops p = {.at = at};
	struct sw_pe_info info = *first;
	for (size_t n = 0; n < SW_PE_CHAIN_MAX; n++) {
		for (size_t i = 0; i < info.n_codes && !p.done; i++)
			pop_code(&p, &info.codes[i], draft);
		if (p.full)
			return false;
		if (p.done || !(info.flags & SW_PE_CHAININFO))
			return true;
		struct sw_pe_function parent = info.parent;
		if (!sw_pe_function_resolve(env, &parent) ||
		    sw_pe_info_read(env, parent.unwind_rva, &info) != SW_PE_OK)
			return false;
	}
	return false;
}

bool sw_pe_epilog(struct sw_pe_env *env, const struct sw_pe_function *function,
		  const struct sw_pe_info *info, uint32_t rva, struct sw_pe_draft *draft)
{
	uint32_t at;
	if (info->version == 1)
		return epilog_decoded(env, function, info, rva, draft);
	if (!epilog_listed(&info->epilogs, function, rva, &at))
		return false;
	if (epilog_popped(env, info, at, draft))
		return true;
	sw_pe_draft_init(env, draft);
	return false;
}
