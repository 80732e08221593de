/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/v8/frame.h"
#include "arch/arch.h"
#include "runtimes/v8/copied.h"
#include "runtimes/v8/find.h"
#include "runtimes/v8/function.h"

#include <stdlib.h>
#include <string.h>

static const struct sw_v8_state framed = {.place = SW_V8_PLACE_FRAME};

/* Code is copied with what says whose it is; what is not there of it is not needed. */
static struct sw_v8_state made_flow(struct sw_v8 *v8, struct sw_v8_function_code function,
				    uint64_t start_avma, uint64_t end_avma, uint64_t pc)
{
	enum { BEHIND = 16 };
	uint64_t n = end_avma - start_avma;
	if (n > SW_V8_FLOW_BYTES)
		n = SW_V8_FLOW_BYTES;
	uint8_t *bytes = malloc(n);
	struct sw_v8_state state = {0};
	if (bytes == NULL)
		return state;
	if (!sw_memory_read(v8->heap.memory, start_avma, bytes, n)) {
		n = pc - start_avma + BEHIND < n ? pc - start_avma + BEHIND : n;
		if (!sw_memory_read(v8->heap.memory, start_avma, bytes, n))
			n = 0;
	}
	function.code = (struct sw_bytes){bytes, n};
	state = sw_v8_flow(&function, pc - start_avma);
	free(bytes);
	return state;
}

static struct sw_v8_state code_flow(struct sw_v8 *v8, const struct sw_v8_code *code, uint64_t pc)
{
	struct sw_v8_function_code function = {.prologue = code->kind == SW_V8_BASELINE,
					       .framed = code->kind != SW_V8_OTHER_CODE,
					       .entered = sw_v8_code_entered(v8->heap, code)};
	return made_flow(v8, function, code->start_avma, code->end_avma, pc);
}

/* By copies the same code is interrupted at the same instruction again and again. */
static struct sw_v8_state interrupted_state(struct sw_v8 *v8, const struct sw_v8_code *code,
					    uint64_t pc)
{
	struct sw_v8_known_code *k = v8->by_copies ? sw_v8_known_code(v8, pc + 1) : NULL;
	if (k == NULL)
		return code_flow(v8, code, pc);
	if (!k->has_state || k->state_pc != pc) {
		k->state = code_flow(v8, code, pc);
		k->state_pc = pc;
		k->has_state = true;
	}
	return k->state;
}

/* A table of jumps has no frame. Where it leads to code that is compiled first, it has pushed which one. */
static struct sw_v8_state jumps_state(struct sw_v8 *v8, const struct sw_v8_wasm_code *code,
				      uint64_t pc)
{
	enum { FAR_TARGET = 8 }; /* jmp *2(%rip); 2 bytes; the address */
	uint64_t target, off;
	uint32_t words = sw_v8_wasm_jump_words(v8->heap, pc, code->start_avma);
	const struct sw_v8_program *p = v8->program;
	if (words == 0 && p->wasm_lazy >= 0 &&
	    sw_memory_u64(v8->heap.memory, pc + FAR_TARGET, &target) &&
	    sw_v8_builtin_at(v8->snap, p, target, &off) == &p->builtins[p->wasm_lazy] && off == 0)
		words = 1;
	return (struct sw_v8_state){.place = SW_V8_PLACE_STACK, .offset = 8 * (int64_t) words};
}

struct sw_v8_state sw_v8_wasm_state_at(struct sw_v8 *v8, const struct sw_v8_wasm_code *code,
				       uint64_t pc)
{
	struct sw_v8_function_code function = {.prologue = code->liftoff, .framed = true};
	return code->kind == SW_V8_WASM_JUMPS
		       ? jumps_state(v8, code, pc)
		       : made_flow(v8, function, code->start_avma, code->end_avma, pc);
}

static struct sw_v8_state made_state(const struct sw_cursor *c)
{
	switch (sw_arch_fp_place(c->memory, c->regs.pc_avma)) {
	case SW_FP_AT_ENTRY: return (struct sw_v8_state){.place = SW_V8_PLACE_STACK};
	case SW_FP_PUSHED: return (struct sw_v8_state){.place = SW_V8_PLACE_PUSHED, .offset = 8};
	case SW_FP_IN_BODY: break;
	}
	return framed;
}

/* Code that a function goes on with after a deoptimisation is jumped to in the frame that was made
 * anew. Baseline code ends with such code, too, in its frame. Source:
 * src/builtins/x64/builtins-x64.cc, Generate_InterpreterEnterBytecode and
 * Generate_BaselineOrInterpreterEntry, builtins-internal-gen.cc, Generate_BaselineLeaveFrame of V8
 * 10.2 to 14.6. */
static bool begins_framed(const struct sw_v8_builtin *builtin)
{
	static const char entry[] = "InterpreterEntry"; /* ...Trampoline: is called */
	return builtin->interprets && strncmp(builtin->name, entry, sizeof(entry) - 1) != 0;
}

bool sw_v8_frame_look(struct sw_v8 *v8, const struct sw_cursor *cursor, struct sw_v8_here *ret)
{
	uint64_t pc = cursor->regs.pc_avma;
	*ret = (struct sw_v8_here){.state = framed};
	ret->builtin = sw_v8_builtin_at(v8->snap, v8->program, pc, &ret->off);
	ret->is_walker =
		ret->builtin == NULL && sw_v8_is_walker(v8->snap, v8->program, pc, &ret->off);
	if (ret->builtin == NULL && !ret->is_walker &&
	    !sw_v8_is_made(v8->snap, cursor->lookup_avma))
		return false;
	bool made = ret->builtin == NULL && !ret->is_walker;
	if (made && !sw_v8_is_known_code(v8, pc + cursor->exact_pc))
		ret->has_wasm = sw_v8_wasm_find(v8->heap, v8->wasm_state_avma, cursor->lookup_avma,
						&ret->wasm);
	if (made && !ret->has_wasm)
		ret->has_code = sw_v8_code_at(v8, pc + cursor->exact_pc, &ret->code);
	if (!cursor->exact_pc) {
		if (v8->unset_sp != 0 && v8->unset_sp == cursor->regs.sp_avma)
			ret->state = (struct sw_v8_state){.place = SW_V8_PLACE_STACK};
	} else if (ret->builtin != NULL) {
		bool lazy = v8->program->wasm_lazy >= 0 &&
			    ret->builtin == &v8->program->builtins[v8->program->wasm_lazy];
		struct sw_v8_function_code function = {.begins_framed = begins_framed(ret->builtin),
						       .entry_words = lazy};
		if (!sw_bytes_sub(v8->program->blob, ret->builtin->off, ret->builtin->bytes,
				  &function.code))
			return false;
		ret->state = sw_v8_flow(&function, ret->off);
	} else if (ret->is_walker) {
		struct sw_v8_function_code function = {.code = v8->program->walker};
		ret->state = sw_v8_flow(&function, ret->off);
	} else if (ret->has_wasm) {
		ret->state = sw_v8_wasm_state_at(v8, &ret->wasm, pc);
	} else if (ret->has_code) {
		ret->state = interrupted_state(v8, &ret->code, pc);
	} else {
		ret->state = made_state(cursor);
	}
	return true;
}

bool sw_v8_frame_slot(const struct sw_cursor *cursor, enum sw_v8_slot slot, uint64_t *ret)
{
	uint64_t fp;
	return sw_regs_get(&cursor->regs, SW_ARCH_FP, &fp) && fp % 8 == 0 &&
	       fp - (uint64_t) slot >= cursor->regs.sp_avma && fp > cursor->regs.sp_avma &&
	       sw_memory_u64(cursor->memory, fp - (uint64_t) slot, ret);
}

bool sw_v8_frame_shared(struct sw_v8 *v8, const struct sw_cursor *cursor, uint64_t *ret)
{
	uint64_t context, function;
	return sw_v8_frame_slot(cursor, SW_V8_SLOT_CONTEXT, &context) && sw_v8_is_object(context) &&
	       sw_v8_frame_slot(cursor, SW_V8_SLOT_FUNCTION, &function) &&
	       sw_v8_function_shared(v8, function, ret);
}
