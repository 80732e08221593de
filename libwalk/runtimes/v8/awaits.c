/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An async function that has waited goes on below a builtin, whose function says by its context which one it is:
 *
 *	closure    JSFunction, whose SharedFunctionInfo has the number of a builtin
 *	context    of the closure; its extension is
 *	generator  function, where it is suspended (or that it executes), registers; of an async function: the
 *	           promise that it has returned; of an async generator: who asked for the next value, which has one
 *	promise    pending: reactions, what is to be called; more than one are a list
 *	reaction   what is called, a closure as above where a function awaits the promise; the promise that it settles
 *
 * V8's own stacks follow the same way, and end where several wait for a promise, as here.
 *
 * Source: src/objects/js-generator.tq, js-promise.tq, promise.tq, contexts.h, src/execution/isolate.cc
 * (CaptureAsyncStackTrace), src/builtins/builtins-promise.h of V8 10.2 to 14.6.
 */
#include "runtimes/v8/awaits.h"
#include "runtimes/v8/function.h"

enum {
	FUNCTION_HASH = 8, /* of JSFunction; of an element's one the number of the element */
	CONTEXT_BEHIND_SHARED = 8,
	CONTEXT_FIRST = 32, /* slot 2 */
	CONTEXT_SECOND = 40,
	GENERATOR_FUNCTION = 24,
	GENERATOR_POSITION = 48, /* as long as it is suspended */
	GENERATOR_CONTINUATION = 64,
	GENERATOR_EXECUTES = -2,
	GENERATOR_PROMISE = 80, /* JSAsyncFunctionObject; JSAsyncGeneratorObject: queue */
	REQUEST_PROMISE = 32,
	PROMISE_REACTIONS = 24,
	PROMISE_FLAGS = 32,
	PROMISE_STATUS = 3,  /* 0: pending */
	REACTION_REJECT = 8, /* from reaction_next on */
	REACTION_FULFILL = 16,
	REACTION_SETTLES = 24,
	CAPABILITY_PROMISE = 8,
};

static const char unread[] = "what awaits it could not be read";

/* Which builtin a JSFunction is; SW_V8_AWAIT_BUILTINS: none of those. */
static enum sw_v8_await_builtin builtin_of(struct sw_v8_heap heap, uint64_t function)
{
	const struct sw_v8_await_layout *at = &heap.at->awaits;
	uint64_t shared, number;
	size_t i = 0;
	/* The word before the name is the builtin's number: the only word there, or the one that is
	 * no code. */
	if (!sw_v8_is_object(function) || !sw_v8_shared_of(heap, function, &shared) ||
	    !sw_v8_word(heap, shared, heap.at->shared_name - 8, &number) || !sw_v8_is_smi(number))
		return SW_V8_AWAIT_BUILTINS;
	while (i < SW_V8_AWAIT_BUILTINS && at->builtins[i] != sw_v8_smi(number))
		i++;
	return (enum sw_v8_await_builtin) i;
}

static bool resumes(enum sw_v8_await_builtin builtin)
{
	return builtin <= SW_V8_GENERATOR_YIELD;
}

static bool context_of(struct sw_v8_heap heap, uint64_t function, uint64_t *ret)
{
	return sw_v8_word(heap, function, heap.at->function_shared + CONTEXT_BEHIND_SHARED, ret);
}

static bool is_generator(struct sw_v8_heap heap, uint64_t object)
{
	uint16_t type;
	return sw_v8_type(heap, object, &type) &&
	       (type == heap.at->awaits.type_function || type == heap.at->awaits.type_generator);
}

static bool generator_of(struct sw_v8_heap heap, uint64_t closure, uint64_t *ret)
{
	uint64_t context;
	return context_of(heap, closure, &context) &&
	       sw_v8_word(heap, context, CONTEXT_FIRST, ret) && is_generator(heap, *ret);
}

/* The function of a generator, and whether it is suspended, and where. */
static bool generator_read(struct sw_v8_heap heap, uint64_t generator, struct sw_v8_await *ret)
{
	uint64_t function, word;
	*ret = (struct sw_v8_await){.object = generator, .offset = -1, .element = -1};
	if (!sw_v8_word(heap, generator, GENERATOR_FUNCTION, &function) ||
	    !sw_v8_shared_of(heap, function, &ret->shared) ||
	    !sw_v8_word(heap, generator, GENERATOR_CONTINUATION, &word) || !sw_v8_is_smi(word))
		return false;
	if (sw_v8_smi(word) < 0)
		return sw_v8_smi(word) == GENERATOR_EXECUTES;
	if (!sw_v8_word(heap, generator, GENERATOR_POSITION, &word) || !sw_v8_is_smi(word))
		return false;
	int64_t offset = (int64_t) sw_v8_smi(word) - (heap.at->bytecode_data - 1);
	ret->bytecode = sw_v8_shared_bytecode(heap, ret->shared);
	ret->offset =
		ret->bytecode != 0 && offset >= 0 && offset <= INT32_MAX ? (int32_t) offset : -1;
	return true;
}

static bool is_suspended(struct sw_v8_heap heap, uint64_t generator)
{
	uint64_t word;
	return sw_v8_word(heap, generator, GENERATOR_CONTINUATION, &word) && sw_v8_smi(word) >= 0;
}

/* The promise that a generator settles when it is done; 0: nobody has asked for its next value.
 * Returns false if it is unreadable. */
static bool generator_promise(struct sw_v8_heap heap, uint64_t generator, uint64_t *ret)
{
	const struct sw_v8_await_layout *at = &heap.at->awaits;
	uint64_t request;
	if (sw_v8_has_type(heap, generator, at->type_function))
		return sw_v8_object(heap, generator, GENERATOR_PROMISE, at->type_promise, ret);
	*ret = 0;
	if (!sw_v8_word(heap, generator, GENERATOR_PROMISE, &request))
		return false;
	return !sw_v8_has_type(heap, request, at->type_request) ||
	       sw_v8_object(heap, request, REQUEST_PROMISE, at->type_promise, ret);
}

bool sw_v8_await_begin(struct sw_v8_heap heap, uint64_t closure, struct sw_v8_await *ret,
		       struct sw_v8_await_chain *ret_chain)
{
	uint64_t generator;
	if (!heap.at->awaits.has_types || !heap.at->awaits.has_builtins ||
	    !resumes(builtin_of(heap, closure)) || !generator_of(heap, closure, &generator) ||
	    is_suspended(heap, generator) || !generator_read(heap, generator, ret))
		return false;
	*ret_chain = (struct sw_v8_await_chain){.heap = heap};
	if (!generator_promise(heap, generator, &ret_chain->promise))
		ret_chain->cut_why = unread;
	return true;
}

bool sw_v8_await_is_over(struct sw_v8_heap heap, uint64_t closure)
{
	uint64_t generator, word;
	return generator_of(heap, closure, &generator) &&
	       sw_v8_word(heap, generator, GENERATOR_CONTINUATION, &word) && sw_v8_is_smi(word) &&
	       sw_v8_smi(word) != GENERATOR_EXECUTES;
}

/* ---- from a promise on ---------------------------------------------------------------------- */

static bool cut(struct sw_v8_await_chain *chain, const char *why)
{
	chain->promise = 0;
	chain->cut_why = why;
	return false;
}

/* The only one that waits for a promise. False: nobody, or *chain says why. */
static bool reaction_of(struct sw_v8_await_chain *chain, uint64_t *ret)
{
	struct sw_v8_heap heap = chain->heap;
	uint64_t flags, next, promise = chain->promise;
	chain->promise = 0;
	if (!sw_v8_word(heap, promise, PROMISE_FLAGS, &flags) ||
	    !sw_v8_word(heap, promise, PROMISE_REACTIONS, ret))
		return cut(chain, unread);
	if ((sw_v8_smi(flags) & PROMISE_STATUS) != 0 || sw_v8_is_smi(*ret))
		return false;
	if (!sw_v8_has_type(heap, *ret, heap.at->awaits.type_reaction) ||
	    !sw_v8_word(heap, *ret, heap.at->awaits.reaction_next, &next))
		return cut(chain, unread);
	if (!sw_v8_is_smi(next)) {
		if (!sw_v8_has_type(heap, next, heap.at->awaits.type_reaction))
			return cut(chain, unread);
		chain->several_why = "more than one waits for what it returns";
		return false;
	}
	return true;
}

/* The promise that a reaction settles: it has it, or a capability that has one; else nothing. */
static void settled_take(struct sw_v8_await_chain *chain, uint64_t object)
{
	struct sw_v8_heap heap = chain->heap;
	uint16_t type;
	if (!sw_v8_type(heap, object, &type)) {
		(void) cut(chain, unread);
		return;
	}
	if (type == heap.at->awaits.type_capability &&
	    (!sw_v8_word(heap, object, CAPABILITY_PROMISE, &object) ||
	     !sw_v8_type(heap, object, &type))) {
		(void) cut(chain, unread);
		return;
	}
	if (type == heap.at->awaits.type_promise)
		chain->promise = object;
}

/* The promise or capability in the slot of a closure's context. */
static void slot_take(struct sw_v8_await_chain *chain, uint64_t closure, int64_t slot)
{
	uint64_t context, word;
	if (context_of(chain->heap, closure, &context) &&
	    sw_v8_word(chain->heap, context, slot, &word))
		settled_take(chain, word);
	else
		(void) cut(chain, unread);
}

/* A promise of several that a call waits for: V8 keeps its number, from 1 on, as the function's hash. */
static bool combinator_take(struct sw_v8_await_chain *chain, uint64_t closure, const char *name,
			    struct sw_v8_await *ret)
{
	uint64_t hash;
	*ret = (struct sw_v8_await){.combinator = name, .offset = -1, .element = -1};
	if (sw_v8_word(chain->heap, closure, FUNCTION_HASH, &hash) && sw_v8_is_smi(hash) &&
	    sw_v8_smi(hash) > 0)
		ret->element = sw_v8_smi(hash) - 1;
	slot_take(chain, closure, CONTEXT_SECOND);
	return true;
}

static bool generator_take(struct sw_v8_await_chain *chain, uint64_t generator,
			   struct sw_v8_await *ret)
{
	/* A generator that executes has not said yet that it waits for something else. */
	if (!is_suspended(chain->heap, generator) || !generator_read(chain->heap, generator, ret))
		return cut(chain, unread);
	if (!generator_promise(chain->heap, generator, &chain->promise))
		(void) cut(chain, unread);
	return true;
}

/* The function that waits for a promise. Returns false if the chain goes on with another promise,
 * or has ended. */
static bool promise_follow(struct sw_v8_await_chain *chain, struct sw_v8_await *ret)
{
	struct sw_v8_heap heap = chain->heap;
	int64_t first = heap.at->awaits.reaction_next;
	uint64_t reaction, fulfill, reject, settles, generator;
	if (!reaction_of(chain, &reaction))
		return false;
	if (!sw_v8_word(heap, reaction, first + REACTION_REJECT, &reject) ||
	    !sw_v8_word(heap, reaction, first + REACTION_FULFILL, &fulfill) ||
	    !sw_v8_word(heap, reaction, first + REACTION_SETTLES, &settles))
		return cut(chain, unread);
	if (is_generator(heap, fulfill))
		return generator_take(chain, fulfill, ret);
	/* A value with which the promise is fulfilled is passed on. */
	if (builtin_of(heap, reject) == SW_V8_ANY_ELEMENT)
		return combinator_take(chain, reject, "Promise.any", ret);
	switch (builtin_of(heap, fulfill)) {
	case SW_V8_AWAIT_RESOLVE:
	case SW_V8_GENERATOR_RESOLVE:
	case SW_V8_GENERATOR_YIELD:
		return generator_of(heap, fulfill, &generator)
			       ? generator_take(chain, generator, ret)
			       : cut(chain, unread);
	case SW_V8_ALL_ELEMENT: return combinator_take(chain, fulfill, "Promise.all", ret);
	case SW_V8_SETTLED_ELEMENT:
		return combinator_take(chain, fulfill, "Promise.allSettled", ret);
	case SW_V8_CAPABILITY_RESOLVE: slot_take(chain, fulfill, CONTEXT_FIRST); break;
	default: settled_take(chain, settles); break;
	}
	return false;
}

/* The function that a bound function calls in the end. */
static bool bound_follow(struct sw_v8_heap heap, uint64_t *function)
{
	enum { TARGET = 24, BOUND_MAX = 8 };
	for (size_t n = 0; n < BOUND_MAX; n++) {
		if (!sw_v8_has_type(heap, *function, heap.at->awaits.type_bound))
			return true;
		if (!sw_v8_word(heap, *function, TARGET, function))
			return false;
	}
	return false;
}

bool sw_v8_await_job(struct sw_v8_heap heap, uint64_t job, uint64_t *ret_function,
		     struct sw_v8_await *ret, struct sw_v8_await_chain *ret_chain)
{
	const struct sw_v8_await_layout *at = &heap.at->awaits;
	uint64_t function, settles, shared;
	uint16_t type;
	/* The fields of a job are an argument where a reaction has the next one, context, handler,
	 * what it settles. */
	if (!at->has_types || !sw_v8_type(heap, job, &type) ||
	    (type != at->type_fulfill_job && type != at->type_reject_job) ||
	    !sw_v8_word(heap, job, at->reaction_next + REACTION_FULFILL, &function) ||
	    !sw_v8_word(heap, job, at->reaction_next + REACTION_SETTLES, &settles) ||
	    !bound_follow(heap, &function) || !sw_v8_shared_of(heap, function, &shared) ||
	    sw_v8_shared_bytecode(heap, shared) == 0)
		return false;
	*ret_function = function;
	*ret = (struct sw_v8_await){.object = job, .shared = shared, .offset = -1, .element = -1};
	*ret_chain = (struct sw_v8_await_chain){.heap = heap};
	settled_take(ret_chain, settles);
	return true;
}

bool sw_v8_await_next(struct sw_v8_await_chain *chain, struct sw_v8_await *ret)
{
	while (chain->promise != 0) {
		if (chain->n_awaits >= SW_V8_AWAITS_MAX || chain->n_promises >= SW_V8_PROMISES_MAX)
			return cut(chain, "there are more than are looked at");
		chain->n_promises++;
		if (promise_follow(chain, ret)) {
			chain->n_awaits++;
			return true;
		}
	}
	return false;
}
