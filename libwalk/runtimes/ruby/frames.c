/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which frames of Ruby lie on which native frame of rb_vm_exec(). Runs are counted, and found where that
 * can be done: what rb_vm_exec() calls has the control frame that it executes in a register, which is
 * r15 in vm_exec_core() (vm_exec.c, DECL_SC_REG) and r13 in YJIT's code. That matters while a run
 * begins: its frames are there before its rb_vm_exec() is.
 */
#include "runtimes/ruby/frames.h"
#include "arch/arch.h"
#include "runtimes/ruby/chain.h"
#include "runtimes/ruby/yjit.h"
#include "runtimes/ruby/registers_x86_64.h"

#include <stdio.h>

enum { COOKIE_C = 1 /* beside the method of a frame of C code */ };

/* The last frame of the native frame's run; n: there is none. */
static size_t run_end(const struct sw_ruby_chain *c)
{
	size_t i = c->next;
	for (size_t k = c->next; c->cfp_known && k < c->n; k++)
		if (c->frames[k].avma == c->cfp_avma)
			i = k;
	while (i < c->n && !(c->frames[i].flags & SW_RUBY_FINISH))
		i++;
	return i;
}

bool sw_ruby_frame_add(struct sw_frame_sink *sink, const struct sw_ruby_frame *frame, bool pc_known)
{
	if (frame->kind == SW_RUBY_FRAME_C)
		return sink->add(sink, frame->method_avma, frame->method_avma | COOKIE_C);
	return sink->add(sink, pc_known ? frame->pc_avma : frame->iseq_avma, frame->iseq_avma);
}

/* False: no more are taken. */
static bool frame_show(struct sw_ruby *ruby, const struct sw_ruby_frame *frame, bool pc_known,
		       struct sw_frame_sink *sink)
{
	if (!ruby->by_copies)
		return sw_ruby_frame_add(sink, frame, pc_known);
	const struct sw_ruby_copied_source from = {&ruby->vm, &ruby->later, &ruby->now};
	uint64_t address = frame->kind == SW_RUBY_FRAME_C ? frame->method_avma
			   : pc_known                     ? frame->pc_avma
							  : frame->iseq_avma;
	return sink->add(sink, address,
			 sw_ruby_copied_cookie(&ruby->copied, &from, frame, pc_known));
}

static void frames_add(struct sw_ruby *ruby, struct sw_frame_sink *sink)
{
	struct sw_ruby_chain *c = &ruby->chain;
	size_t last = run_end(c);
	for (; c->next < c->n && c->next <= last; c->next++) {
		const struct sw_ruby_frame *f = &c->frames[c->next];
		/* Generated code does not keep pc up to date. */
		bool pc_known = c->next != c->top || !c->jit_seen;
		if (f->kind != SW_RUBY_FRAME_OTHER && !frame_show(ruby, f, pc_known, sink))
			return;
	}
}

/*
 * Whether frames are missing: they were not copied; there are none any more for an rb_vm_exec() further out; or some are left
 * where no native frame comes that could execute them.
 */
static bool is_incomplete(const struct sw_ruby_chain *c, bool executes, bool outermost)
{
	size_t i = c->next;
	if (executes)
		return c->cut || c->limited || (i > 0 && i >= c->n);
	while (i < c->n && c->frames[i].kind == SW_RUBY_FRAME_OTHER)
		i++;
	return outermost && i < c->n;
}

bool sw_ruby_frames(struct sw_ruby *ruby, const struct sw_cursor *callee, uint64_t caller_sp_avma,
		    struct sw_frame_sink *sink)
{
	struct sw_ruby_chain *c = &ruby->chain;
	if (ruby->found.layout == NULL)
		return false;
	if (c->tid != callee->thread->tid || callee->depth <= 1)
		sw_ruby_chain_read(ruby, callee->thread);
	bool own = callee->place == ruby->found.place, yjit = sw_ruby_in_yjit(ruby, callee);
	uint64_t svma = callee->lookup_avma - ruby->found.place->bias;
	bool is_vm = own && svma >= ruby->exec.start_svma && svma < ruby->exec.end_svma;
	sink->without = is_vm && ruby->by_copies && c->n == 0;
	sink->may_miss = ruby->by_copies && is_incomplete(c, is_vm, caller_sp_avma == 0);
	if (is_vm && (c->cut || (!ruby->by_copies && c->n == 0)))
		sink->cut_why = "not all of Ruby's frames could be read";
	if (is_vm && c->limited) {
		sink->cut_why = "Ruby has more frames there than the 8192 that are followed";
		sw_snapshot_note_limit(
			ruby->snap,
			"ruby: frames of a thread that has more than 8192 were left out");
	}
	if (c->n == 0 || (!own && !yjit))
		return false;
	c->jit_seen |= yjit;
	if (yjit && callee->exact_pc && c->next == 0)
		c->next = c->top = sw_ruby_yjit_unfinished(ruby, callee);
	if (is_vm) {
		frames_add(ruby, sink);
		c->jit_seen = c->cfp_known = false;
	} else {
		c->cfp_known =
			sw_regs_get(&callee->regs, yjit ? SW_RUBY_REG_YJIT_CFP : SW_RUBY_REG_CFP,
				    &c->cfp_avma);
	}
	return true;
}

int sw_ruby_names(struct sw_ruby *ruby, const struct sw_frame *frame, struct sw_description *ret)
{
	struct sw_ruby_name name;
	bool c = frame->cookie & COOKIE_C;
	uint64_t avma = frame->cookie & ~UINT64_C(7);
	uint64_t pc = frame->pc_avma != avma ? frame->pc_avma : 0;
	if (c ? !sw_ruby_method_name(&ruby->vm, avma, &name)
	      : !sw_ruby_iseq_name(&ruby->vm, avma, pc, &name)) {
		(void) snprintf(ret->function, sizeof(ret->function), "%s",
				c ? "[C method]" : "[Ruby method]"); /* fits */
		return 1;
	}
	(void) snprintf(ret->function, sizeof(ret->function), "%s", name.label); /* these fit */
	(void) snprintf(ret->file, sizeof(ret->file), "%s", name.path);
	ret->line = name.line;
	return 1;
}
