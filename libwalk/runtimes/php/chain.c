/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Source: Zend/zend_compile.h and Zend/zend_execute.c of PHP 8.2: EG(current_execute_data) leads to the
 * innermost call, prev_execute_data on to its caller.
 */
#include "runtimes/php/chain.h"
#include "arena.h"
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
	*ret = (struct sw_php_call){.avma = avma};
	if (avma % 8 != 0 ||
	    !sw_memory_u64(php->memory, avma + SW_PHP_ED_OPLINE, &ret->opline_avma) ||
	    !sw_memory_u64(php->memory, avma + SW_PHP_ED_FUNC, &ret->func_avma) ||
	    !u32_read(php->memory, avma + SW_PHP_ED_INFO, &ret->info) ||
	    !sw_memory_u64(php->memory, avma + SW_PHP_ED_PREV, ret_prev_avma))
		return false;
	ret->unread = !function_read(php, ret);
	return true;
}

/* The innermost call; 0: the thread runs no PHP. */
static uint64_t innermost(const struct sw_php *php, const struct sw_thread *thread)
{
	const struct sw_php_found *f = &php->found;
	uint64_t globals = f->globals_svma + f->place->bias, own, offset, value;
	if (f->threads) {
		uint64_t slot = thread->fs_base + (uint64_t) f->thread_offset;
		if (thread->fs_base == 0 || !sw_memory_u64(php->memory, slot, &own) || own == 0 ||
		    !sw_memory_u64(php->memory, globals, &offset))
			return 0;
		globals = own + offset;
	}
	return sw_memory_u64(php->memory, globals + f->layout->current_execute_data, &value) ? value
											     : 0;
}

void sw_php_chain_read(struct sw_php *php, const struct sw_thread *thread)
{
	struct sw_php_chain *c = &php->chain;
	c->tid = thread->tid;
	c->n = c->next = c->n_native = 0;
	c->fp_known = c->begins = false;
	for (uint64_t avma = innermost(php, thread); avma != 0;) {
		struct sw_php_call *grown =
			sw_grow(c->calls, c->n, &c->capacity, 64, sizeof(*grown));
		if (grown != NULL)
			c->calls = grown;
		if (grown == NULL || c->n >= SW_PHP_CHAIN_MAX ||
		    !sw_php_call_read(php, avma, &c->calls[c->n], &avma)) {
			php->cut = true;
			return;
		}
		php->cut |= c->calls[c->n].unread;
		c->n++;
	}
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
