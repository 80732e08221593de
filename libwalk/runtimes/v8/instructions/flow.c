/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * V8's compilers set frames up as late as they can, and not on every way through a function: what holds
 * at an instruction is found by following the function from its entry, way by way. Whatever way led to
 * an instruction, what holds there is the same: the compilers see to that.
 */
#include "runtimes/v8/instructions/flow.h"
#include "arch/arch.h"
#include "arch/insn.h"

enum {
	WAYS_MAX = 1024,
	BEHIND_MAX = 2048,
	STEPS_MAX = 65536,
	INT3 = 0xcc,
	UNKNOWN_OFFSET = INT64_MAX
};

struct way {
	uint32_t at;
	struct sw_v8_state state;
};

struct flow {
	struct sw_bytes code;
	uint64_t pc;
	bool prologue; /* its call is still to come */
	bool framed;   /* unknown blocks have the frame */
	uint8_t seen[SW_V8_FLOW_BYTES / 8];
	struct way ways[WAYS_MAX];
	size_t n_ways, steps;
	uint32_t behind[BEHIND_MAX]; /* where ways have ended: something else begins there */
	size_t n_behind;
};

static bool see(struct flow *f, uint64_t at)
{
	uint8_t bit = (uint8_t) (1 << at % 8);
	bool first = !(f->seen[at / 8] & bit);
	f->seen[at / 8] |= bit;
	return first;
}

static void way_add(struct flow *f, uint64_t target, const struct sw_v8_state *s)
{
	if (target < f->code.size && f->n_ways < WAYS_MAX)
		f->ways[f->n_ways++] = (struct way){(uint32_t) target, *s};
}

/* xor %reg, %reg: DWARF number of what is 0 then; else SW_INSN_NO_REG. */
static uint8_t zeroed(struct sw_bytes code, uint64_t at)
{
	/* The numbers of encodings 0 to 7; those from 8 on are the same. */
	static const uint8_t numbers[] = {0, 2, 1, 3, 7, 6, 4, 5};
	enum { REX = 0x40, REX_R = 4, REX_B = 1, XOR_TO = 0x31, XOR_FROM = 0x33, REGISTERS = 3 };
	uint8_t b[3] = {0};
	bool rex = at < code.size && (code.data[at] & 0xf0) == REX;
	if (!sw_bytes_copy(code, at + rex, b + 1, 2))
		return SW_INSN_NO_REG;
	b[0] = rex ? code.data[at] : 0;
	unsigned to = b[2] >> 3 & 7, from = b[2] & 7;
	if ((b[1] != XOR_TO && b[1] != XOR_FROM) || b[2] >> 6 != REGISTERS || to != from ||
	    !(b[0] & REX_R) != !(b[0] & REX_B))
		return SW_INSN_NO_REG;
	return b[0] & REX_B ? (uint8_t) (8 + to) : numbers[to];
}

/*
 * Arguments are moved down, and with them the return address, which is the first word:
 *
 *	mov %rsp, %reg; ... sub %other, %rsp; ... xor %index, %index; then a loop over index
 *
 * Source: src/builtins/x64/builtins-x64.cc, Generate_AllocateSpaceAndShiftExistingArguments, and
 * src/codegen/x64/macro-assembler-x64.cc, InvokePrologue, of V8 10.2 to 14.6.
 */
static void sp_lost(const struct flow *f, struct sw_v8_state *s, uint64_t next)
{
	enum { BEFORE_ZEROED_MAX = 2 }; /* instructions */
	struct sw_insn i;
	uint8_t old_sp = s->old_sp;
	s->old_sp = 0;
	for (size_t n = 0; s->place == SW_V8_PLACE_STACK && s->offset == 0 && old_sp != 0 &&
			   n <= BEFORE_ZEROED_MAX;
	     n++) {
		if (zeroed(f->code, next) != SW_INSN_NO_REG) {
			s->place = SW_V8_PLACE_COPYING;
			s->reg = old_sp;
			s->index = SW_INSN_NO_REG;
			return;
		}
		if (next >= f->code.size ||
		    !sw_arch_insn(false, f->code.data + next, f->code.size - next, next, &i) ||
		    i.op != SW_INSN_PLAIN)
			break;
		next += i.length;
	}
	s->offset = UNKNOWN_OFFSET;
}

static void old_sp_note(const struct flow *f, uint64_t at, struct sw_v8_state *s)
{
	struct sw_move move;
	if (s->place == SW_V8_PLACE_STACK && s->offset == 0 &&
	    sw_arch_move(f->code.data + at, f->code.size - at, at, &move) &&
	    move.op == SW_MOVE_COPY && move.from == SW_ARCH_SP && move.value == 0 &&
	    move.to != SW_ARCH_FP)
		s->old_sp = move.to;
}

static void plain(const struct flow *f, struct sw_v8_state *s, uint64_t at)
{
	if (s->place == SW_V8_PLACE_COPYING && s->index == SW_INSN_NO_REG)
		s->index = zeroed(f->code, at);
	else
		old_sp_note(f, at, s);
}

static void offset_add(struct sw_v8_state *s, int64_t value)
{
	if (s->offset != UNKNOWN_OFFSET)
		s->offset += value;
}

static void pushed(struct sw_v8_state *s, const struct sw_insn *i)
{
	if (s->place == SW_V8_PLACE_REGISTER && i->reg == s->reg) {
		s->place = SW_V8_PLACE_STACK;
		s->offset = 0;
		return;
	}
	/* Code that leaves for another function with more arguments moves the return address: the
	 * old word is one of the arguments then. */
	if (s->place == SW_V8_PLACE_STACK && i->of_stack && i->value == s->offset) {
		s->offset = 0;
		return;
	}
	if (s->place == SW_V8_PLACE_STACK && i->reg == SW_ARCH_FP && s->offset == 0)
		s->place = SW_V8_PLACE_PUSHED;
	offset_add(s, 8);
}

static void popped(struct sw_v8_state *s, const struct sw_insn *i)
{
	if (s->place == SW_V8_PLACE_FRAME && i->reg == SW_ARCH_FP) {
		s->place = SW_V8_PLACE_STACK;
		s->offset = 0;
		return;
	}
	if (s->place == SW_V8_PLACE_STACK && s->offset == 0 && i->reg != SW_INSN_NO_REG) {
		s->place = SW_V8_PLACE_REGISTER;
		s->reg = i->reg;
		return;
	}
	if (s->place == SW_V8_PLACE_PUSHED && i->reg == SW_ARCH_FP && s->offset == 8)
		s->place = SW_V8_PLACE_STACK;
	offset_add(s, -8);
}

static void moved(struct flow *f, struct sw_v8_state *s, const struct sw_insn *i, uint64_t at)
{
	switch (i->op) {
	case SW_INSN_PUSH: pushed(s, i); break;
	case SW_INSN_POP: popped(s, i); break;
	case SW_INSN_FP_FROM_SP:
		if (i->value != 0)
			break;
		if (s->place == SW_V8_PLACE_PUSHED)
			s->place = SW_V8_PLACE_FRAME;
		else
			s->framed = true;
		break;
	case SW_INSN_LEAVE:
		if (s->place == SW_V8_PLACE_FRAME)
			*s = (struct sw_v8_state){.place = SW_V8_PLACE_STACK};
		break;
	case SW_INSN_SP_ADD: offset_add(s, -i->value); break;
	case SW_INSN_SP_LOST:
	case SW_INSN_SP_FROM_REG:
		if (s->place != SW_V8_PLACE_FRAME)
			sp_lost(f, s, at + i->length);
		break;
	case SW_INSN_BRANCH:
		/* The loop's end: at least one word was moved. */
		if (s->place == SW_V8_PLACE_COPYING && i->target < at)
			*s = (struct sw_v8_state){.place = SW_V8_PLACE_STACK, .framed = s->framed};
		break;
	case SW_INSN_PLAIN: plain(f, s, at); break;
	case SW_INSN_SP_AND:
	case SW_INSN_SP_FROM_FP:
		if (s->place != SW_V8_PLACE_FRAME &&
		    !(i->op == SW_INSN_SP_FROM_FP && i->value == 0))
			s->offset = UNKNOWN_OFFSET;
		break;
	case SW_INSN_CALL:
		if (f->prologue)
			*s = (struct sw_v8_state){.place = SW_V8_PLACE_FRAME};
		f->prologue = false;
		break;
	default: break;
	}
}

static void way_end(struct flow *f, uint64_t at, const struct sw_insn *i,
		    const struct sw_v8_state *s)
{
	if (f->n_behind < BEHIND_MAX)
		f->behind[f->n_behind++] = (uint32_t) at;
	/* Code that leaves for another function has given its frame up: this is a table of
	 * jumps. */
	if (i->op == SW_INSN_JUMP_FAR && s->place == SW_V8_PLACE_FRAME)
		f->framed = true;
}

/* Follow a way up to where it ends or meets another one. Returns true if it comes to pc. */
static bool way_follow(struct flow *f, struct way w, struct sw_v8_state *ret)
{
	uint64_t at = w.at;
	while (at < f->code.size && see(f, at) && f->steps++ < STEPS_MAX) {
		struct sw_insn i;
		if (at == f->pc) {
			*ret = w.state;
			return true;
		}
		if (!sw_arch_insn(false, f->code.data + at, f->code.size - at, at, &i))
			return false;
		if (i.op == SW_INSN_BRANCH || i.op == SW_INSN_JUMP)
			way_add(f, i.target, &w.state);
		/* A subroutine within the function, which has the function's frame. */
		if (i.op == SW_INSN_CALL && i.target_known && w.state.place == SW_V8_PLACE_FRAME)
			way_add(f, i.target, &w.state);
		if (i.op == SW_INSN_JUMP || i.op == SW_INSN_JUMP_FAR || i.op == SW_INSN_RETURN ||
		    i.op == SW_INSN_STOP) {
			way_end(f, at + i.length, &i, &w.state);
			return false;
		}
		moved(f, &w.state, &i, at);
		at += i.length;
		/* Arguments are moved down: other ways say what holds behind that. */
		if (w.state.place != SW_V8_PLACE_FRAME && w.state.place != SW_V8_PLACE_REGISTER &&
		    w.state.offset == UNKNOWN_OFFSET)
			return false;
	}
	return false;
}

static bool ways_follow(struct flow *f, struct sw_v8_state *ret)
{
	while (f->n_ways > 0) {
		struct way next = f->ways[--f->n_ways];
		if (way_follow(f, next, ret))
			return true;
	}
	return false;
}

/* Blocks that begin where others end, and that nobody was seen to lead to. */
static bool rest_follow(struct flow *f, struct sw_v8_state *ret)
{
	struct sw_v8_state state = {.place = f->framed ? SW_V8_PLACE_FRAME : SW_V8_PLACE_STACK};
	for (size_t i = 0; i < f->n_behind; i++) {
		uint64_t at = f->behind[i];
		while (at < f->code.size && f->code.data[at] == INT3)
			at++;
		way_add(f, at, &state);
		if (ways_follow(f, ret))
			return true;
	}
	return false;
}

struct sw_v8_state sw_v8_flow(const struct sw_v8_function_code *function, uint64_t pc)
{
	struct flow f = {.code = function->code,
			 .pc = pc,
			 .prologue = function->prologue,
			 .framed = function->framed};
	const struct sw_v8_state entry = {.place = SW_V8_PLACE_STACK,
					  .offset = 8 * function->entry_words};
	const struct sw_v8_state framed = {.place = SW_V8_PLACE_FRAME};
	struct sw_v8_state found = {0};
	if (f.code.size > SW_V8_FLOW_BYTES)
		f.code.size = SW_V8_FLOW_BYTES;
	if (function->entered != 0)
		way_add(&f, function->entered, &framed);
	else
		way_add(&f, 0, function->begins_framed ? &framed : &entry);
	if (!ways_follow(&f, &found))
		(void) rest_follow(&f, &found); /* else it stays unknown */
	return found;
}
