/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/ruby/chain.h"
#include "arena.h"

void sw_ruby_chain_end(struct sw_ruby *ruby)
{
	struct sw_ruby_chain *c = &ruby->chain;
	for (; c->next < c->n; c->next++)
		ruby->cut |= c->frames[c->next].kind != SW_RUBY_FRAME_OTHER;
}

bool sw_ruby_chain_stack(struct sw_ruby *ruby, const struct sw_thread *thread,
			 struct sw_ruby_stack *ret)
{
	if (!ruby->by_copies)
		return sw_ruby_stack_read(&ruby->vm, thread->fs_base, ret);
	if (ruby->stack_of != thread)
		ruby->has_stack = sw_ruby_stack_read(&ruby->vm, thread->fs_base, &ruby->stack);
	ruby->stack_of = thread;
	*ret = ruby->stack;
	return ruby->has_stack;
}

static bool frames_read(struct sw_ruby *ruby, const struct sw_ruby_stack *stack)
{
	struct sw_ruby_chain *c = &ruby->chain;
	for (uint64_t avma = stack->first_avma; avma < stack->end_avma;
	     avma += ruby->found.layout->frame_bytes) {
		if (c->n >= SW_RUBY_FRAMES_MAX) {
			c->limited = true;
			return true;
		}
		struct sw_ruby_frame *grown =
			sw_grow(c->frames, c->n, &c->capacity, 64, sizeof(*grown));
		if (grown != NULL)
			c->frames = grown;
		if (grown == NULL || !sw_ruby_frame_read(&ruby->vm, avma, &c->frames[c->n]))
			return false;
		c->n++;
	}
	return true;
}

void sw_ruby_chain_read(struct sw_ruby *ruby, const struct sw_thread *thread)
{
	struct sw_ruby_chain *c = &ruby->chain;
	struct sw_ruby_stack stack;
	sw_ruby_chain_end(ruby);
	c->tid = thread->tid;
	c->n = c->next = c->top = 0;
	c->jit_seen = c->cfp_known = c->cut = c->limited = false;
	c->ec_avma = 0;
	if (ruby->by_copies)
		sw_ruby_copied_begin(&ruby->copied);
	if (!sw_ruby_chain_stack(ruby, thread, &stack))
		return;
	c->ec_avma = stack.ec_avma;
	c->cut = !frames_read(ruby, &stack);
	ruby->cut |= c->cut;
}
