/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Source: Zend/zend_compile.h and Zend/zend_execute.c of PHP 8.2: EG(current_execute_data) leads to the
 * innermost call, prev_execute_data on to its caller.
 */
#include "runtimes/php/chain.h"
#include "arena.h"
#include "runtimes/php/generators.h"
#include "runtimes/php/php.h"

#include <stdlib.h>

void sw_php_chain_deinit(struct sw_php_chain *chain)
{
	free(chain->calls);
}

static bool u32_read(struct sw_memory m, uint64_t avma, uint32_t *ret)
{
	return sw_memory_read(m, avma, ret, sizeof(*ret));
}

/* Type and instructions of the function; what cannot be read stays 0. False: nothing of it was copied. */
static bool function_read(const struct sw_php *php, struct sw_php_call *call)
{
	const struct sw_php_layout *at = php->found.layout;
	uint64_t opcodes, bytes;
	uint32_t last;
	uint8_t type;
	if (call->func_avma == 0 || call->func_avma % 8 != 0)
		return true;
	if (!sw_memory_read(php->memory, call->func_avma + SW_PHP_FUNC_TYPE, &type, 1))
		return false;
	if (type != SW_PHP_INTERNAL_FUNCTION && type != SW_PHP_USER_FUNCTION &&
	    type != SW_PHP_EVAL_CODE)
		return true;
	call->type = type;
	if (type == SW_PHP_INTERNAL_FUNCTION ||
	    !sw_memory_u64(php->memory, call->func_avma + at->op_opcodes, &opcodes) ||
	    !u32_read(php->memory, call->func_avma + at->op_last, &last))
		return true;
	bytes = (uint64_t) last * SW_PHP_OP_BYTES;
	if (opcodes != 0 && !__builtin_add_overflow(opcodes, bytes, &call->opcodes_end_avma))
		call->opcodes_avma = opcodes;
	return true;
}

bool sw_php_call_read(const struct sw_php *php, uint64_t avma, struct sw_php_call *ret,
		      uint64_t *ret_prev_avma)
{
	uint64_t this_avma;
	*ret = (struct sw_php_call){.avma = avma};
	if (avma % 8 != 0 || !sw_memory_u64(php->memory, avma + SW_PHP_ED_THIS, &this_avma) ||
	    !sw_memory_u64(php->memory, avma + SW_PHP_ED_OPLINE, &ret->opline_avma) ||
	    !sw_memory_u64(php->memory, avma + SW_PHP_ED_FUNC, &ret->func_avma) ||
	    !u32_read(php->memory, avma + SW_PHP_ED_INFO, &ret->info) ||
	    !sw_memory_u64(php->memory, avma + SW_PHP_ED_PREV, ret_prev_avma))
		return false;
	ret->unread = !function_read(php, ret);
	ret->generator_avma = sw_php_place_holder(avma, ret->func_avma, this_avma, ret->info);
	return true;
}

/* The innermost call; 0: the thread runs no PHP. False: it cannot be read. */
static bool innermost(const struct sw_php *php, const struct sw_thread *thread, uint64_t *ret)
{
	const struct sw_php_found *f = &php->found;
	uint64_t globals = f->globals_svma + f->place->bias, own, offset;
	if (f->threads) {
		uint64_t slot = thread->fs_base + (uint64_t) f->thread_offset;
		if (thread->fs_base == 0 || !sw_memory_u64(php->memory, slot, &own) || own == 0)
			return true;
		if (!sw_memory_u64(php->memory, globals, &offset))
			return false;
		globals = own + offset;
	}
	return sw_memory_u64(php->memory, globals + f->layout->current_execute_data, ret);
}

static bool is_one_of(const uint64_t *all, size_t n, uint64_t avma)
{
	for (size_t i = 0; i < n; i++)
		if (all[i] == avma)
			return true;
	return false;
}

/* Whether the address is that of a call of a function, whose callers go on to the outermost one. */
static bool is_linked_call(const struct sw_php *php, uint64_t avma)
{
	struct sw_php_call call;
	uint64_t prev;
	for (size_t i = 0; i < SW_PHP_CHAIN_MAX; i++) {
		if (!sw_php_call_read(php, avma, &call, &prev) || (i == 0 && call.type == 0))
			return false;
		if (prev == 0)
			return call.info & SW_PHP_CALL_TOP;
		avma = prev;
	}
	return false;
}

/* Whether it is the other call, or its callers lead to that. */
static bool leads_to(const struct sw_php *php, uint64_t avma, uint64_t wanted_avma)
{
	for (size_t i = 0; i < SW_PHP_CHAIN_MAX && avma != 0 && avma != wanted_avma; i++)
		if (!sw_memory_u64(php->memory, avma + SW_PHP_ED_PREV, &avma))
			return false;
	return avma == wanted_avma;
}

/* The innermost of the candidates that are linked calls: its callers are the others. 0 if there is
 * none. */
static uint64_t innermost_of(const struct sw_php *php, const uint64_t *all, size_t n)
{
	uint64_t found = 0;
	for (size_t i = 0; i < n; i++) {
		if (!is_linked_call(php, all[i]) || (found != 0 && leads_to(php, found, all[i])))
			continue;
		if (found != 0 && !leads_to(php, all[i], found))
			return 0;
		found = all[i];
	}
	return found;
}

/*
 * The candidate that is a generator which yields from another one, perhaps by way of further ones,
 * up to the generator whose call is given; 0 if there is none.
 */
static uint64_t delegating(struct sw_php *php, const uint64_t *all, size_t n, uint64_t call_avma)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t avma = all[i], parent = avma, call;
		size_t k = 0;
		while (k < SW_PHP_GENERATORS_MAX && avma % 8 == 0 &&
		       sw_memory_u64(php->memory, avma + SW_PHP_GENERATOR_PARENT, &parent) &&
		       parent != 0) {
			avma = parent;
			k++;
		}
		if (k > 0 && parent == 0 &&
		    sw_memory_u64(php->memory, avma + SW_PHP_GENERATOR_CALL, &call) &&
		    call == call_avma)
			return all[i];
		if (k == SW_PHP_GENERATORS_MAX)
			php->chain.cut = php->chain.missing = true;
	}
	return 0;
}

/* A call behind the others. False: there is no place, or it cannot be read. */
static bool call_add(struct sw_php *php, uint64_t avma, uint64_t *ret_prev_avma)
{
	struct sw_php_chain *c = &php->chain;
	if (c->n >= SW_PHP_CHAIN_MAX) {
		c->limited = true;
		return false;
	}
	struct sw_php_call *grown = sw_grow(c->calls, c->n, &c->capacity, 64, sizeof(*grown));
	if (grown != NULL)
		c->calls = grown;
	if (grown == NULL || !sw_php_call_read(php, avma, &c->calls[c->n], ret_prev_avma))
		return false;
	c->cut |= c->calls[c->n].unread;
	c->n++;
	return true;
}

/*
 * The calls of generators that yield from another one, whose place holder this is: as
 * zend_generator_check_placeholder_frame() has them, innermost first. No execute_ex() executes them: they are of the
 * run of who has resumed the outermost. False: some are missing.
 */
static bool generators_add(struct sw_php *php, uint64_t avma)
{
	struct sw_php_chain *c = &php->chain;
	size_t first = c->n;
	uint64_t call, prev;
	bool whole = false;
	for (size_t i = 0; i < SW_PHP_GENERATORS_MAX; i++) {
		uint64_t parent;
		if (!sw_memory_u64(php->memory, avma + SW_PHP_GENERATOR_PARENT, &parent))
			break;
		whole = parent == 0;
		if (whole) /* it has its own call in the chain */
			break;
		if (!sw_memory_u64(php->memory, avma + SW_PHP_GENERATOR_CALL, &call) ||
		    !call_add(php, call, &prev))
			break;
		c->calls[c->n - 1].info &= ~(uint32_t) SW_PHP_CALL_TOP;
		avma = parent;
	}
	for (size_t i = first, last = c->n; i + 1 < last; i++) {
		struct sw_php_call swapped = c->calls[i];
		c->calls[i] = c->calls[--last];
		c->calls[last] = swapped;
	}
	return whole;
}

/*
 * The caller of the innermost call, which has prev_avma there: another one where that is a
 * generator, about to be resumed, and not linked to it yet. Source: zend_generator_resume() of
 * Zend/zend_generators.c, PHP 8.2, which sets EG(current_execute_data) first and prev_execute_data
 * after it, for a delegating generator by way of execute_fake. Before it has set them, these name
 * whoever resumed the generator the last time, or nothing. Delegating generators are added.
 */
static uint64_t resumer(struct sw_php *php, const struct sw_thread *thread, uint64_t prev_avma)
{
	const struct sw_php_call *innermost = &php->chain.calls[0];
	uint64_t all[SW_PHP_RESUMERS_MAX], fake_prev = 0, by;
	size_t n = sw_php_resumers(&php->found, thread, all);
	struct sw_php_call fake = {0};
	if (!(innermost->info & SW_PHP_CALL_GENERATOR) || n == 0 ||
	    is_one_of(all, n, innermost->avma))
		return prev_avma;
	if (prev_avma != 0)
		(void) sw_php_call_read(php, prev_avma, &fake,
					&fake_prev); /* else it stands for no generator */
	by = delegating(php, all, n, innermost->avma);
	if (by == 0 && is_one_of(all, n, fake.generator_avma))
		by = fake.generator_avma;
	bool linked = by == 0 ? is_one_of(all, n, prev_avma)
			      : by == fake.generator_avma && is_one_of(all, n, fake_prev);
	if (linked)
		return prev_avma;
	uint64_t caller = innermost_of(php, all, n);
	if (caller == 0 || (by != 0 && !generators_add(php, by)))
		php->chain.cut = php->chain.missing = true;
	return caller;
}

/* Notes that the calls from here on are missing. */
static void calls_end(struct sw_php_chain *c)
{
	c->missing = true;
	c->cut |= !c->limited;
}

static void calls_read(struct sw_php *php, const struct sw_thread *thread)
{
	struct sw_php_chain *c = &php->chain;
	uint64_t avma = 0;
	c->missing = !innermost(php, thread, &avma);
	c->cut = c->missing && php->by_copies;
	while (avma != 0) {
		if (!call_add(php, avma, &avma)) {
			calls_end(c);
			return;
		}
		uint64_t generator = c->calls[c->n - 1].generator_avma;
		if (c->n == 1)
			avma = resumer(php, thread, avma);
		else if (generator != 0 && !generators_add(php, generator))
			calls_end(c);
	}
}

void sw_php_chain_read(struct sw_php *php, const struct sw_thread *thread)
{
	struct sw_php_chain *c = &php->chain;
	c->tid = thread->tid;
	c->n = c->next = c->n_native = 0;
	c->fp_known = c->begins = c->limited = false;
	if (php->by_copies)
		sw_php_copied_begin(&php->copied);
	calls_read(php, thread);
	php->cut |= c->cut;
}

size_t sw_php_chain_find(const struct sw_php_chain *chain, uint64_t avma)
{
	size_t i = 0;
	while (i < chain->n && chain->calls[i].avma != avma)
		i++;
	return i;
}

size_t sw_php_chain_run_end(const struct sw_php_chain *chain, size_t i)
{
	while (i + 1 < chain->n && !(chain->calls[i].info & SW_PHP_CALL_TOP))
		i++;
	return i;
}

bool sw_php_call_has(const struct sw_php_call *call, uint64_t opline_avma)
{
	return call->opcodes_avma != 0 && opline_avma >= call->opcodes_avma &&
	       opline_avma < call->opcodes_end_avma &&
	       (opline_avma - call->opcodes_avma) % SW_PHP_OP_BYTES == 0;
}
