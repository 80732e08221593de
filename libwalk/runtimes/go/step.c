/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From frame to frame by the frame sizes that the table has for each instruction. Go code keeps no
 * register for its caller but rsp and, in a place that is not needed, rbp.
 */
#include "runtimes/go/step.h"
#include "arch/arch.h"
#include "cleanup.h"
#include "runtimes/go/entry.h"
#include "runtimes/go/linked.h"
#include "runtimes/go/stacks.h"
#include "runtimes/go/switch.h"
#include "runtimes/go/window.h"
#include "runtimes/go/registers_x86_64.h"

#include <string.h>

enum {
	/* Bytes that crosscall2 keeps for C, from its frame's end: go1.19.8 and go1.26
	 * src/runtime/cgo/abi_amd64.h, PUSH_REGS_HOST_TO_ABI0(). */
	SAVED_BYTES = 48,
	DELTA_MAX = 1 << 30,
};

const struct sw_go_module *sw_go_module_at(const struct sw_go *go, const struct sw_place *place,
					   uint64_t avma)
{
	for (size_t i = 0; place != NULL && i < go->modules.n; i++) {
		const struct sw_go_module *m = &go->modules.all[i];
		uint64_t svma = avma - m->place->bias;
		if (m->place == place && svma >= m->image.text_svma && svma < m->image.end_svma)
			return m;
	}
	return NULL;
}

static enum sw_step failed(struct sw_stepped *ret, enum sw_end end, const char *why)
{
	ret->end = end;
	ret->why = why;
	ret->final = true; /* what is guessed instead are stale words of a stack that was left */
	return SW_STEP_FAIL;
}

/* The stacks of the cursor's thread. */
static const struct sw_go_thread *stacks_of(struct sw_go *go, const struct sw_go_module *module,
					    const struct sw_cursor *cursor)
{
	uint64_t slot;
	if (go->thread == cursor->thread && go->of == module)
		return &go->stacks;
	if (go->thread != cursor->thread)
		go->scheduled = go->vdso_passed = false;
	go->thread = cursor->thread;
	go->of = module;
	go->stacks = (struct sw_go_thread){0};
	if (go->parked != NULL && cursor->thread == go->parked) {
		go->stacks.curg = go->parked_stack;
		go->stacks_live = go->stale = false;
		return &go->stacks;
	}
	size_t live = go->source.live_reads;
	if (cursor->thread != NULL &&
	    sw_go_tls_slot(module, go->memory, cursor->thread->fs_base, &slot))
		(void) sw_go_thread_read(module, go->memory, slot, &go->stacks); /* not known */
	go->stacks_live = go->source.live_reads != live;
	go->stale = go->window != NULL && cursor->thread != NULL &&
		    !sw_go_window_fits(go->window, cursor->thread);
	return &go->stacks;
}

/* The kernel's frame of a signal; what it returns to is the first instruction of a function. */
static enum sw_step signal_step(const struct sw_cursor *cursor, struct sw_stepped *ret)
{
	uint64_t word;
	ret->regs = (struct sw_regs){0};
	for (unsigned i = 0; i < SW_REGS_MAX; i++) {
		if (!sw_memory_u64(cursor->memory, cursor->regs.sp_avma + sw_arch_sigframe_off(i),
				   &word))
			return failed(ret, sw_cursor_memory_end(cursor, cursor->regs.sp_avma),
				      "the signal frame could not be read");
		sw_regs_set(&ret->regs, i, word);
	}
	ret->callee_signal = true;
	ret->flags = SW_FRAME_EXACT_PC;
	return SW_STEP_OK;
}

/* The registers of C code that has called Go. */
static void saved_by_crosscall(const struct sw_go_frame *f, uint64_t cfa, struct sw_stepped *ret)
{
	const struct sw_regs *r = &f->cursor->regs;
	uint64_t base = cfa - 8 - SAVED_BYTES, word;
	if (f->cursor->exact_pc) {
		/* On the way in and out they are still, or again, in their registers, and rbp is in one
		 * of both places: where it points tells. */
		uint32_t preserved = sw_arch_preserved(false);
		for (unsigned i = 0; i < SW_REGS_MAX; i++)
			if ((preserved & UINT32_C(1) << i) && sw_regs_get(r, i, &word) &&
			    i != SW_ARCH_SP && i != SW_ARCH_RA)
				sw_regs_set(&ret->regs, i, word);
		if (sw_regs_get(r, SW_ARCH_FP, &word) && word == base + 40 &&
		    sw_memory_u64(f->cursor->memory, base + 40, &word))
			sw_regs_set(&ret->regs, SW_ARCH_FP, word);
		return;
	}
	for (size_t i = 0; i < sizeof(SW_GO_CROSSCALL_SAVED); i++)
		if (sw_memory_u64(f->cursor->memory, base + 8 * i, &word))
			sw_regs_set(&ret->regs, SW_GO_CROSSCALL_SAVED[i], word);
}

static bool delta_find(struct sw_go_frame *f, uint64_t off)
{
	int32_t delta;
	if (!sw_go_value(&f->module->image.table, &f->func, f->func.sp_table, off, &delta) ||
	    delta < 0 || delta > DELTA_MAX || delta % 8 != 0)
		return false;
	f->delta = (uint64_t) delta;
	return true;
}

static enum sw_step leave(const struct sw_go_frame *f, enum sw_go_special special,
			  const struct sw_go_caller *caller, struct sw_stepped *ret)
{
	uint64_t pc = caller->pc_avma;
	if (!caller->resumed && (caller->cfa_avma < 8 || caller->cfa_avma % 8 != 0 ||
				 !sw_memory_u64(f->cursor->memory, caller->cfa_avma - 8, &pc)))
		return failed(ret, sw_cursor_memory_end(f->cursor, caller->cfa_avma - 8),
			      "the return address could not be read");
	if (caller->other_stack && !sw_go_called_from(f, special, pc))
		return failed(ret, SW_END_BAD_UNWIND_INFO,
			      "the goroutine's stack that Go's runtime left was not found");
	ret->regs = (struct sw_regs){0};
	sw_regs_set(&ret->regs, SW_ARCH_SP, caller->cfa_avma);
	sw_regs_set(&ret->regs, SW_ARCH_RA, pc);
	ret->other_stack = caller->other_stack;
	if (special == SW_GO_INJECTED || (caller->resumed && special == SW_GO_GOGO))
		ret->flags |= SW_FRAME_EXACT_PC;
	if (caller->other_stack && f->go->stacks_live)
		ret->flags |= SW_FRAME_LIVE_READ;
	/* C, on the stack of the thread that waits for it, called the goroutine: that is not seen here. */
	if (special == SW_GO_CGOCALLBACK && f->go->parked == f->cursor->thread)
		ret->flags |= SW_FRAME_MAY_MISS;
	if (special == SW_GO_FROM_C)
		saved_by_crosscall(f, caller->cfa_avma, ret);
	return SW_STEP_OK;
}

/* A thread that C made goes on there; else nothing called this. */
static bool is_called_by_c(const struct sw_go_frame *f)
{
	uint64_t pc, target;
	const struct sw_cursor *c = f->cursor;
	if (!sw_memory_u64(c->memory, c->regs.sp_avma + f->delta, &pc))
		return false;
	const struct sw_place *place = sw_snapshot_place(c->snap, pc);
	return place != NULL && sw_go_module_at(f->go, place, pc) == NULL &&
	       sw_arch_call_before(f->go->memory, pc, &target) != SW_CALL_NONE;
}

/* With the thread itself. */
static bool is_copied(const struct sw_thread *t, uint64_t avma)
{
	return avma >= t->stack_avma && avma - t->stack_avma <= t->stack_bytes;
}

/* Out of C code that Go's linker has put into the program. */
static enum sw_step linked_step(const struct sw_go_frame *f, struct sw_stepped *ret)
{
	struct sw_go_caller caller;
	bool may_miss;
	if (!sw_go_linked_caller(f, &caller, &may_miss))
		return failed(ret, SW_END_NO_UNWIND_INFO,
			      "Go's table has no frame size for this code");
	enum sw_step step = leave(f, SW_GO_ORDINARY, &caller, ret);
	if (step == SW_STEP_OK && may_miss)
		ret->flags |= SW_FRAME_MAY_MISS;
	return step;
}

static enum sw_step frame_step(struct sw_go_frame *f, struct sw_stepped *ret)
{
	const struct sw_cursor *c = f->cursor;
	enum sw_go_special special = sw_go_special_of(&f->func);
	struct sw_go_caller caller;
	if (special == SW_GO_SCHEDULER)
		f->go->scheduled = true;
	if (special == SW_GO_TOP)
		return SW_STEP_END;
	if (f->func.sp_table == 0)
		return linked_step(f, ret);
	uint64_t off = c->lookup_avma - f->module->place->bias - f->module->image.text_svma;
	if (!delta_find(f, off))
		return failed(ret, SW_END_NO_UNWIND_INFO,
			      "Go's table has no frame size for this code");
	if (special == SW_GO_MSTART && !is_called_by_c(f))
		return SW_STEP_END;
	switch (sw_go_switch(f, special, &caller)) {
	case SW_GO_SWITCH_END: return SW_STEP_END;
	case SW_GO_SWITCH_FAIL:
		return failed(ret, SW_END_BAD_UNWIND_INFO,
			      "the goroutine's stack that Go's runtime left was not found");
	case SW_GO_SWITCH_OK:
		if (f->go->stale && !is_copied(c->thread, caller.cfa_avma))
			return failed(ret, SW_END_MEMORY,
				      "the thread ran on after its goroutine was copied");
		return leave(f, special, &caller, ret);
	case SW_GO_SWITCH_NONE: break;
	}
	caller = (struct sw_go_caller){.cfa_avma = c->regs.sp_avma + f->delta + 8};
	return leave(f, special, &caller, ret);
}

/*
 * The cursor is in what a handler returns to: its system call is an instruction further, and ends behind that.
 *
 *	48 c7 c0 0f 00 00 00	mov $15, %rax
 *	0f 05			syscall
 */
static bool is_sigreturn(const struct sw_go *go, const struct sw_cursor *cursor)
{
	static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	static const uint64_t done[] = {0, 7, sizeof(code)};
	size_t n = cursor->exact_pc ? SW_ARRAY_SIZE(done) : 1;
	uint8_t there[sizeof(code)];
	for (size_t i = 0; i < n; i++)
		if (sw_memory_read(go->memory, cursor->regs.pc_avma - done[i], there,
				   sizeof(there)) &&
		    memcmp(there, code, sizeof(code)) == 0)
			return true;
	return false;
}

enum sw_step sw_go_step(struct sw_go *go, struct sw_cursor *cursor, struct sw_stepped *ret)
{
	struct sw_go_frame f = {.go = go, .cursor = cursor};
	if (cursor->depth == 1)
		go->scheduled = go->vdso_passed = false;
	f.module = sw_go_module_at(go, cursor->place, cursor->lookup_avma);
	if (f.module == NULL)
		return sw_go_entry_step(go, cursor, ret) ? SW_STEP_OK : SW_STEP_DECLINE;
	if (is_sigreturn(go, cursor))
		return signal_step(cursor, ret);
	if (!sw_go_image_func(&f.module->image, cursor->lookup_avma - f.module->place->bias,
			      &f.func))
		return failed(ret, SW_END_NO_UNWIND_INFO, "Go code that its table does not have");
	f.stacks = stacks_of(go, f.module, cursor);
	return frame_step(&f, ret);
}
