/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From frame to frame through V8's code. It keeps frame pointers; where code was interrupted, its
 * instructions say if the frame is there already or not any more. The entry from C++ restores what C++
 * wants preserved:
 *
 *	JSEntry     r12 to r15 and rbx at [rbp-24] to [rbp-56]
 *
 * Source: src/builtins/x64/builtins-x64.cc (Generate_JSEntryVariant), src/execution/frame-constants.h
 * of V8 10.2 to 14.6.
 */
#include "runtimes/v8/step.h"
#include "arch/arch.h"
#include "arch/insn.h"
#include "runtimes/v8/copied.h"
#include "runtimes/v8/find.h"
#include "runtimes/v8/registers_x86_64.h"

#include <string.h>

enum { FRAME_SPAN_MAX = 16 << 20, INTERPRETER_WORDS_MAX = 8 };

/* A frame to step out of. */
struct frame {
	struct sw_v8 *v8;
	const struct sw_cursor *cursor;
	struct sw_v8_here here;
	uint64_t sp, fp;
	bool fp_known;
};

struct caller {
	uint64_t pc, sp, fp;
	bool fp_known;
};

static bool word(const struct frame *f, uint64_t avma, uint64_t *ret)
{
	return sw_memory_u64(f->cursor->memory, avma, ret);
}

static bool fp_fits(const struct frame *f)
{
	return f->fp_known && f->fp % 8 == 0 && f->fp >= f->sp && f->fp - f->sp < FRAME_SPAN_MAX;
}

static bool by_frame(const struct frame *f, struct caller *ret)
{
	*ret = (struct caller){.sp = f->fp + 16, .fp_known = true};
	return fp_fits(f) && word(f, f->fp + 8, &ret->pc) && word(f, f->fp, &ret->fp);
}

static bool copying_pc(const struct frame *f, uint64_t *ret)
{
	uint64_t index, old_sp;
	if (f->here.state.index == SW_INSN_NO_REG)
		index = 0; /* it is not there yet */
	else if (!sw_regs_get(&f->cursor->regs, f->here.state.index, &index))
		return false;
	if (!sw_regs_get(&f->cursor->regs, f->here.state.reg, &old_sp))
		return false;
	if (index != 0)
		return word(f, f->sp, ret);
	return old_sp >= f->sp && old_sp - f->sp < FRAME_SPAN_MAX && word(f, old_sp, ret);
}

static bool by_state(const struct frame *f, struct caller *ret)
{
	const struct sw_v8_state *s = &f->here.state;
	*ret = (struct caller){.fp = f->fp, .fp_known = f->fp_known};
	switch (s->place) {
	case SW_V8_PLACE_FRAME: return by_frame(f, ret);
	case SW_V8_PLACE_STACK:
	case SW_V8_PLACE_PUSHED:
		ret->sp = f->sp + (uint64_t) s->offset + 8;
		return s->offset >= 0 && word(f, ret->sp - 8, &ret->pc);
	case SW_V8_PLACE_REGISTER:
		/* Words that were pushed since are of the frame that was set up for the caller. */
		ret->sp = f->sp + (!s->framed && s->offset > 0 && s->offset < FRAME_SPAN_MAX
					   ? (uint64_t) s->offset
					   : 0);
		return sw_regs_get(&f->cursor->regs, s->reg, &ret->pc);
	case SW_V8_PLACE_COPYING: ret->sp = f->sp + 8; return copying_pc(f, &ret->pc);
	case SW_V8_PLACE_UNKNOWN: break;
	}
	return false;
}

/* Code that is reached by ways nobody follows: of bytecode handlers the frame says if it is theirs. */
static bool by_handler(const struct frame *f, struct caller *ret)
{
	uint64_t context, off;
	if (f->here.builtin == NULL || !f->here.builtin->handler || !fp_fits(f) ||
	    !word(f, f->fp - 8, &context))
		return false;
	if (!sw_v8_is_object(context))
		return by_frame(f, ret);
	for (size_t i = 0; i < INTERPRETER_WORDS_MAX; i++) {
		*ret = (struct caller){.sp = f->sp + 8 * i + 8, .fp = f->fp, .fp_known = true};
		if (!word(f, ret->sp - 8, &ret->pc))
			return false;
		const struct sw_v8_builtin *b =
			sw_v8_builtin_at(f->v8->snap, f->v8->program, ret->pc, &off);
		if (b != NULL && b->interprets && off > 0)
			return true;
	}
	return false;
}

static bool is_builtin(const struct frame *f, int index)
{
	return index >= 0 && f->here.builtin == &f->v8->program->builtins[index];
}

/* A table of jumps, by which the caller goes to what sets its frame up. */
static bool is_way_to_prologue(const struct frame *f, const struct caller *caller)
{
	enum { CALL_BYTES = 5 };
	struct sw_v8_wasm_code code;
	return f->here.has_wasm && f->here.wasm.kind == SW_V8_WASM_JUMPS &&
	       sw_v8_wasm_find(f->v8->heap, f->v8->wasm_state_avma, caller->pc - 1, &code) &&
	       code.kind == SW_V8_WASM_FUNCTION && code.liftoff &&
	       caller->pc - code.start_avma >= CALL_BYTES &&
	       sw_v8_wasm_state_at(f->v8, &code, caller->pc - CALL_BYTES).place ==
		       SW_V8_PLACE_STACK;
}

/* Builtins that baseline code calls before its frame is there: the frame to which they return is
 * noted as not set up. */
static void prologue_note(const struct frame *f, const struct caller *caller)
{
	const struct sw_v8_program *p = f->v8->program;
	const struct sw_v8_state *s = &f->here.state;
	if (!f->cursor->exact_pc || s->framed || s->place == SW_V8_PLACE_FRAME)
		return;
	if (is_builtin(f, p->prologue) || is_builtin(f, p->wasm_prologue) ||
	    is_way_to_prologue(f, caller)) {
		f->v8->unset_sp = caller->sp;
		if (!sw_regs_get(&f->cursor->regs, SW_V8_REG_FUNCTION, &f->v8->unset_function))
			f->v8->unset_function = 0;
	}
}

/* The caller of a builtin that a deoptimisation entered, while C++ code that it called runs. */
static bool by_deopt(const struct frame *f, struct caller *ret, bool *ret_incomplete)
{
	const struct sw_v8_program *p = f->v8->program;
	struct sw_memory memory = f->v8->by_copies ? f->v8->copied.memory : f->v8->heap.memory;
	struct sw_v8_given_up found;
	if (f->cursor->exact_pc || f->here.builtin == NULL || !f->fp_known)
		return false;
	for (size_t i = 0; i < p->n_deopts; i++) {
		if (f->here.builtin != &p->builtins[p->deopt_builtins[i]])
			continue;
		if (!sw_v8_deopt_caller(&p->deopts[i], f->here.off, f->cursor->memory, memory,
					f->sp, f->fp, &found)) {
			/* The object that C++ code has of that frame is in no copy of an event. */
			*ret_incomplete |= f->v8->by_copies;
			continue;
		}
		*ret = (struct caller){found.pc, found.sp, found.fp, true};
		*ret_incomplete = found.incomplete;
		return true;
	}
	return false;
}

static bool is_entry(const struct sw_v8_builtin *b)
{
	return b != NULL &&
	       (strcmp(b->name, "JSEntry") == 0 || strcmp(b->name, "JSConstructEntry") == 0 ||
		strcmp(b->name, "JSRunMicrotasksEntry") == 0);
}

static void preserved_restore(const struct frame *f, struct sw_stepped *ret)
{
	uint64_t value;
	for (size_t i = 0; i < sizeof(SW_V8_ENTRY_SAVED); i++)
		if (word(f, f->fp - 24 - 8 * i, &value))
			sw_regs_set(&ret->regs, SW_V8_ENTRY_SAVED[i], value);
}

/*
 * Made code by itself may be anybody's: it is V8's when it is that of a Code object, or its frame is one
 * of JavaScript or has a type.
 */
static bool is_proven(const struct frame *f)
{
	uint64_t context, shared;
	if (f->here.builtin != NULL || f->here.has_code || f->here.has_wasm || f->here.is_walker)
		return true;
	if (!sw_v8_frame_slot(f->cursor, SW_V8_SLOT_CONTEXT, &context))
		return false;
	if (context % 2 == 0)
		return context != 0 && context / 2 < (uint64_t) f->v8->heap.at->frame_types;
	return sw_v8_frame_shared(f->v8, f->cursor, &shared);
}

/* Code into which others were compiled, where nothing says which of them calls. */
static bool inlining_unknown(struct sw_v8 *v8, uint64_t pc)
{
	struct sw_v8_code code;
	struct sw_v8_wasm_code wasm;
	struct sw_v8_wasm_level wasm_levels[SW_V8_WASM_INLINED_MAX];
	bool certain;
	if (!sw_v8_is_made(v8->snap, pc - 1))
		return false;
	if (!sw_v8_is_known_code(v8, pc) &&
	    sw_v8_wasm_find(v8->heap, v8->wasm_state_avma, pc - 1, &wasm))
		return wasm.kind == SW_V8_WASM_FUNCTION &&
		       (sw_v8_wasm_levels(v8->heap, &wasm, pc, wasm_levels, &certain), !certain);
	if (v8->by_copies) {
		const struct sw_v8_known_code *k = sw_v8_known_code(v8, pc);
		return k == NULL || k->uncertain;
	}
	/* Code that was not copied may have other functions in it. */
	return !sw_v8_code_find(v8->heap, pc, &code) ||
	       sw_v8_code_is_uncertain(v8->heap, &code, pc);
}

enum sw_step sw_v8_step(struct sw_v8 *v8, const struct sw_cursor *cursor, struct sw_stepped *ret)
{
	struct frame f = {.v8 = v8, .cursor = cursor, .sp = cursor->regs.sp_avma};
	struct caller caller;
	bool incomplete = false;
	if (cursor->depth == 1)
		v8->unset_sp = v8->stale_sp = 0;
	f.fp_known = sw_regs_get(&cursor->regs, SW_ARCH_FP, &f.fp);
	if (!sw_v8_frame_look(v8, cursor, &f.here) || !is_proven(&f))
		return SW_STEP_DECLINE;
	if (!by_deopt(&f, &caller, &incomplete) && !by_state(&f, &caller) &&
	    (f.here.state.place != SW_V8_PLACE_UNKNOWN || !by_handler(&f, &caller)))
		return SW_STEP_DECLINE;
	prologue_note(&f, &caller);
	if (cursor->exact_pc && f.here.builtin != NULL && f.here.builtin->handler)
		v8->stale_sp = caller.sp;
	if (incomplete || inlining_unknown(v8, caller.pc))
		ret->flags |= SW_FRAME_MAY_MISS;
	ret->regs = cursor->regs;
	ret->regs.known &=
		f.here.is_walker ? sw_arch_preserved(false) : 0; /* it changes none of them */
	sw_regs_set(&ret->regs, SW_ARCH_SP, caller.sp);
	sw_regs_set(&ret->regs, SW_ARCH_RA, caller.pc);
	if (caller.fp_known)
		sw_regs_set(&ret->regs, SW_ARCH_FP, caller.fp);
	if (is_entry(f.here.builtin) && !cursor->exact_pc)
		preserved_restore(&f, ret);
	return SW_STEP_OK;
}
