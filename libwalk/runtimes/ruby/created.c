/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fibers that have not begun. They have no stack, but Ruby 3.3 and later has a list of all contexts for its JITs, also
 * where none is used: those that threads begin with, and those of all fibers that were not freed.
 *
 *	rb_jit_cont	ec  prev  next			doubly linked, 0 at both ends
 *	rb_fiber_t	rb_context_t, which begins with its type, has the Fiber at 16, the execution context at 80 and
 *			ends with the rb_jit_cont; first_proc, prev, resuming_fiber, status, {sp, the rb_fiber_t},
 *			{start of its stack ...}
 *
 * A context counts only if all of these pointers lead back to it, and it has neither a stack nor a
 * VM stack.
 *
 * Source: cont.c (struct rb_jit_cont, jit_cont_new(), cont_init_jit_cont(), fiber_initialize()), vm_core.h (rb_proc_t,
 * struct rb_block) of Ruby 3.3.8.
 */
#include "runtimes/ruby/created.h"
#include "bytes.h"

#include <string.h>

enum {
	WORD = 8,
	PAGE = 4096,
	FIBER_BYTES = 768, /* rb_fiber_t: that are looked at */
	FIBER_TYPE = 0,    /* u32 */
	FIBER_CONTEXT = 1,
	FIBER_OBJECT = 16,
	FIBER_EC = 80,
	CONTEXT_OFF_MIN = 400, /* of the rb_jit_cont in it */
	CONTEXT_OFF_MAX = 704,
	/* Behind it. */
	FIRST_PROC = 8,
	STATUS = 32,
	STACK_BASE = 56,
	STATUS_MASK = 3,
	STATUS_CREATED = 0,
	/* Proc, rb_proc_t */
	TYPED_FLAG = 24,
	TYPED_EMBEDDED = 2,
	PROC_BYTES = 32,
	PROC_ISEQ = 16,
	PROC_TYPE = 24, /* u32 */
	PROC_TYPE_ISEQ = 0,
};

/* rb_jit_cont */
struct context {
	uint64_t ec_avma, prev_avma, next_avma;
};

static bool context_read(const struct sw_ruby_vm *vm, uint64_t avma, struct context *ret)
{
	uint64_t words[3];
	if (avma < PAGE || avma % WORD != 0 ||
	    !sw_memory_read(vm->memory, avma, words, sizeof(words)))
		return false;
	*ret = (struct context){words[0], words[1], words[2]};
	return ret->ec_avma > FIBER_EC && ret->ec_avma % WORD == 0;
}

static uint64_t word(struct sw_bytes bytes, size_t off)
{
	uint64_t value = 0;
	(void) sw_bytes_u64(bytes, off, &value); /* these fit */
	return value;
}

/* Where a fiber has its rb_jit_cont, by the one that a thread runs: the same in all. 0: it is not there. */
static size_t context_off(const struct sw_ruby_vm *vm, uint64_t ec_avma, uint64_t *ret_avma)
{
	uint8_t data[FIBER_BYTES];
	struct sw_bytes fiber = {data, sizeof(data)};
	struct context context;
	if (ec_avma <= FIBER_EC ||
	    !sw_memory_read(vm->memory, ec_avma - FIBER_EC, data, sizeof(data)))
		return 0;
	for (size_t off = CONTEXT_OFF_MIN; off < CONTEXT_OFF_MAX; off += WORD) {
		*ret_avma = word(fiber, off);
		if (context_read(vm, *ret_avma, &context) && context.ec_avma == ec_avma)
			return off;
	}
	return 0;
}

/* The block of a Proc; 0: it has none that Ruby code is in. */
static uint64_t iseq_of(const struct sw_ruby_vm *vm, uint64_t proc_avma)
{
	uint8_t object[SW_RUBY_DATA_BYTES], data[PROC_BYTES];
	struct sw_bytes o = {object, sizeof(object)}, proc = {data, sizeof(data)};
	uint32_t type;
	if (proc_avma % WORD != 0 ||
	    !sw_memory_read(vm->memory, proc_avma, object, sizeof(object)) ||
	    (word(o, 0) & SW_RUBY_TYPE_MASK) != SW_RUBY_DATA ||
	    (word(o, TYPED_FLAG) & TYPED_EMBEDDED) ||
	    !sw_memory_read(vm->memory, word(o, SW_RUBY_DATA_POINTER), data, sizeof(data)))
		return 0;
	memcpy(&type, data + PROC_TYPE, sizeof(type));
	return type == PROC_TYPE_ISEQ ? word(proc, PROC_ISEQ) : 0;
}

/* Whether it is a fiber that has not begun; off is that of its rb_jit_cont. */
static bool created_read(const struct sw_ruby_vm *vm, uint64_t context_avma, uint64_t ec_avma,
			 size_t off, struct sw_ruby_created *ret)
{
	uint8_t data[FIBER_BYTES];
	struct sw_bytes fiber = {data, sizeof(data)};
	uint64_t avma = ec_avma - FIBER_EC, status, proc;
	uint32_t type;
	/* Most have begun: of these no more is copied. */
	if (!sw_memory_u64(vm->memory, avma + off + STATUS, &status) ||
	    (status & STATUS_MASK) != STATUS_CREATED ||
	    !sw_memory_read(vm->memory, avma, data, sizeof(data)))
		return false;
	memcpy(&type, data + FIBER_TYPE, sizeof(type));
	proc = word(fiber, off + FIRST_PROC);
	ret->object_avma = word(fiber, FIBER_OBJECT);
	if (type != FIBER_CONTEXT || word(fiber, off) != context_avma || proc == 0 ||
	    word(fiber, FIBER_EC + SW_RUBY_EC_FIBER) != avma ||
	    word(fiber, FIBER_EC + SW_RUBY_EC_STACK) != 0 || word(fiber, off + STACK_BASE) != 0 ||
	    ret->object_avma == 0 || ret->object_avma % WORD != 0)
		return false;
	ret->iseq_avma = iseq_of(vm, proc);
	return true;
}

struct list {
	const struct sw_ruby_vm *vm;
	size_t off, n;
	uint64_t first_avma;
	sw_ruby_created_fn *each;
	void *arg;
};

static bool context_look(struct list *l, uint64_t avma, const struct context *context)
{
	struct sw_ruby_created created;
	return !created_read(l->vm, avma, context->ec_avma, l->off, &created) ||
	       l->each(l->arg, &created);
}

/* All of them on one side of the first, without it. */
static const char *side_walk(struct list *l, bool back)
{
	uint64_t avma = l->first_avma;
	struct context context;
	if (!context_read(l->vm, avma, &context))
		return "the list of fibers could not be read";
	for (;;) {
		uint64_t before = avma;
		avma = back ? context.prev_avma : context.next_avma;
		if (avma == 0)
			return NULL;
		if (avma == l->first_avma || !context_read(l->vm, avma, &context) ||
		    (back ? context.next_avma : context.prev_avma) != before)
			return "the list of fibers could not be read";
		if (l->n == SW_RUBY_CONTEXTS_MAX) /* of both sides together */
			return "there are too many fibers";
		l->n++;
		if (!context_look(l, avma, &context))
			return NULL;
	}
}

const char *sw_ruby_created_each(const struct sw_ruby_vm *vm, uint64_t ec_avma,
				 sw_ruby_created_fn *each, void *arg)
{
	struct list l = {.vm = vm, .each = each, .arg = arg};
	if (!vm->found->layout->lists_contexts)
		return NULL;
	l.off = context_off(vm, ec_avma, &l.first_avma);
	if (l.off == 0)
		return "the list of fibers was not found";
	/* The fiber that a thread runs has begun: the list need not tell of it. */
	const char *why = side_walk(&l, true), *other = side_walk(&l, false);
	return why != NULL ? why : other;
}
