/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which calls of PHP lie on which frame of execute_ex(). Each such frame has in r14 the call that it
 * executes, and keeps on its stack what was in r14 when it was entered: the call that the frame of
 * execute_ex() before it executes. So runs are not only counted but found.
 *
 * A thread may be stopped while a call begins or ends. EG(current_execute_data) is set before
 * execute_ex() is called, and set back before it returns; in between r14 holds a call that is not in
 * the chain. At the first instructions of execute_ex() r14 is still its caller's, and what lies where it will be
 * kept is of an earlier call; at the last ones it is its caller's again, whose calls are not this frame's.
 *
 * A fiber has a stack of its own, on which its last call has a function without a name for its caller; that one has been called
 * by Fiber::start() or resume(), whose callers are on the stack of who did that. So the calls go on where the native stack ends.
 *
 * C code in between may use r14, too: what it had there is taken for a call only if it is one of those that are
 * left, or if its caller is one.
 */
#include "runtimes/php/frames.h"
#include "arch/arch.h"
#include "runtimes/php/names.h"
#include "runtimes/php/registers_x86_64.h"

/*
 * The call at whose run's end the frame's calls end; n: it has none. fp_avma may be a call that begins
 * or has ended: its caller is in the chain then, unless it is the first of its run.
 */
static size_t last_call(struct sw_php *php, bool fp_known, uint64_t fp_avma)
{
	struct sw_php_chain *c = &php->chain;
	struct sw_php_call call;
	uint64_t prev;
	size_t i = fp_known ? sw_php_chain_find(c, fp_avma) : c->n;
	if (i == c->n && fp_known && fp_avma != 0 && sw_php_call_read(php, fp_avma, &call, &prev)) {
		i = sw_php_chain_find(c, prev);
		if (i < c->n && i >= c->next && (call.info & SW_PHP_CALL_TOP))
			return c->n;
	}
	if (i == c->n ||
	    i < c->next) /* internal functions that C code has called have no execute_ex() */
		for (i = c->next; i < c->n && c->calls[i].type == SW_PHP_INTERNAL_FUNCTION;)
			i++;
	return i < c->n ? sw_php_chain_run_end(c, i) : c->n;
}

/* The instruction that a call is at; 0 when that is not certain. */
static uint64_t opline_of(const struct sw_php_chain *c, size_t i, const struct sw_cursor *callee,
			  bool jit)
{
	const struct sw_php_call *call = &c->calls[i];
	uint64_t ip;
	/* A caller has stored where it is, and so has a call that is about to be made. */
	bool stored =
		i > 0 || c->begins || c->n_native > 1 || (c->fp_known && c->fp_avma != call->avma);
	if (stored)
		return sw_php_call_has(call, call->opline_avma) ? call->opline_avma : 0;
	/* In generated code neither is kept up to date. */
	if (!jit && c->fp_known && sw_regs_get(&callee->regs, SW_PHP_REG_OPLINE, &ip) &&
	    sw_php_call_has(call, ip))
		return ip;
	return 0;
}

/* Whether it is what calls the function of a fiber: zend_fiber_function of Zend/zend_fibers.c, PHP 8.1 to 8.4. */
static bool is_fiber_entry(const struct sw_php *php, const struct sw_php_call *call)
{
	uint64_t name;
	return call->type == SW_PHP_INTERNAL_FUNCTION &&
	       sw_memory_u64(php->memory, call->func_avma + SW_PHP_FUNC_NAME, &name) && name == 0;
}

/* False: no more are taken. */
static bool call_show(struct sw_php *php, const struct sw_php_call *call, uint64_t opline_avma,
		      bool outermost, struct sw_frame_sink *sink)
{
	if (!php->by_copies)
		return sink->add(sink, opline_avma != 0 ? opline_avma : call->func_avma,
				 call->func_avma | (outermost ? SW_PHP_OUTERMOST : 0));
	const struct sw_php_copied_source from = {php->memory, php->later, php->found.layout};
	uint64_t address = opline_avma != 0          ? opline_avma
			   : call->opcodes_avma != 0 ? call->opcodes_avma
						     : call->func_avma;
	return sink->add(sink, address,
			 sw_php_copied_cookie(&php->copied, &from, call, opline_avma, outermost));
}

static void calls_add(struct sw_php *php, struct sw_php_chain *c, size_t last,
		      const struct sw_cursor *callee, bool jit, struct sw_frame_sink *sink)
{
	for (; c->next <= last; c->next++) {
		const struct sw_php_call *call = &c->calls[c->next];
		/* A place holder of generators and of C code, and what PHP does not show either. */
		if (call->type == 0 || is_fiber_entry(php, call))
			continue;
		uint64_t at = 0;
		if (call->type != SW_PHP_INTERNAL_FUNCTION)
			at = opline_of(c, c->next, callee, jit);
		if (!call_show(php, call, at, c->next + 1 == c->n, sink))
			return;
	}
}

static bool is_yield(const struct sw_php *php, const struct sw_php_call *call, uint64_t opline_avma)
{
	uint8_t code;
	return sw_php_call_has(call, opline_avma) &&
	       sw_memory_read(php->memory, opline_avma + SW_PHP_OP_CODE, &code, 1) &&
	       (code == SW_PHP_YIELD || code == SW_PHP_YIELD_FROM);
}

/* While execute_ex() returns: whether its call is still there, as that of a generator that has yielded is. It
 * goes on behind the yield, or once more at "yield from". */
static bool has_yielded(const struct sw_php *php)
{
	const struct sw_php_call *call = &php->chain.calls[php->chain.next];
	uint64_t at = call->opline_avma;
	return is_yield(php, call, at - SW_PHP_OP_BYTES) || is_yield(php, call, at);
}

/* execute_ex() returns: r14 is its caller's; what is no call of the chain C code had there. */
static void returning_add(struct sw_php *php, const struct sw_cursor *callee,
			  struct sw_frame_sink *sink)
{
	struct sw_php_chain *c = &php->chain;
	c->fp_known = sw_regs_get(&callee->regs, SW_PHP_REG_CALL, &c->fp_avma) &&
		      sw_php_chain_find(c, c->fp_avma) < c->n;
	if (has_yielded(php))
		calls_add(php, c, sw_php_chain_run_end(c, c->next), callee, false, sink);
}

/*
 * Whether calls are missing: they were not copied; there are none any more for an execute_ex() further out; or some are left
 * where no native frame comes that could execute them.
 */
static bool is_incomplete(const struct sw_php_chain *c, bool executes, bool outermost)
{
	if (executes)
		return c->cut || c->limited || (c->n_native > 0 && c->next >= c->n);
	return outermost && c->next < c->n;
}

bool sw_php_frames(struct sw_php *php, const struct sw_cursor *callee, uint64_t caller_sp_avma,
		   struct sw_frame_sink *sink)
{
	struct sw_php_chain *c = &php->chain;
	if (php->found.layout == NULL)
		return false;
	if (c->tid != callee->thread->tid || callee->depth <= 1)
		sw_php_chain_read(php, callee->thread);
	bool executes = sw_php_engine_has(&php->engine, &php->found, callee, caller_sp_avma);
	sink->may_miss = php->by_copies && is_incomplete(c, executes, caller_sp_avma == 0);
	if (executes && c->missing)
		sink->cut_why = c->limited
					? "PHP has more calls there than the 8192 that are followed"
					: "not all of PHP's calls could be read";
	if (executes && c->limited)
		sw_snapshot_note_limit(
			php->snap, "php: calls of a thread that has more than 8192 were left out");
	if (c->n == 0)
		return false;
	bool is_last = caller_sp_avma == 0 && c->n_native > 0 && c->next < c->n;
	if (is_last && is_fiber_entry(php, &c->calls[c->next]))
		calls_add(php, c, c->n - 1, callee, false, sink);
	if (!executes)
		return callee->place == php->found.place;
	bool jit = callee->place != php->found.place;
	uint64_t fp = 0;
	if (c->n_native++ == 0) {
		if (sw_php_engine_ends(&php->engine, &php->found, callee)) {
			returning_add(php, callee, sink);
			return true;
		}
		bool known = sw_regs_get(&callee->regs, SW_PHP_REG_CALL, &fp);
		c->begins = sw_php_engine_begins(&php->engine, &php->found, callee);
		c->fp_known = known || c->begins;
		c->fp_avma = c->begins ? c->calls[0].avma : fp;
	}
	size_t last = last_call(php, c->fp_known, c->fp_avma);
	if (last < c->n)
		calls_add(php, c, last, callee, jit, sink);
	/* The call that the next execute_ex() further out executes. */
	if (c->n_native == 1 && c->begins) {
		c->fp_known = sw_regs_get(&callee->regs, SW_PHP_REG_CALL, &c->fp_avma);
		return true;
	}
	c->fp_known =
		caller_sp_avma != 0 && php->engine.fp_below != 0 &&
		sw_memory_u64(callee->memory, caller_sp_avma - php->engine.fp_below, &c->fp_avma);
	return true;
}

void sw_php_frames_touch(const struct sw_php *php, const struct sw_thread *thread)
{
	struct sw_php_call call;
	uint64_t fp, prev;
	if (sw_regs_get(&thread->regs, SW_PHP_REG_CALL, &fp) && fp != 0)
		(void) sw_php_call_read(php, fp, &call,
					&prev); /* fails where the register holds no call */
}
