/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/v8/awaits: from an async function to those that await it, over made objects. */
#include "runtimes/v8/awaits.h"
#include "v8_heap.h"
#include "test.h"

enum {
	TYPE_JSFUNCTION = 2066,
	TYPE_SHARED = 262,
	TYPE_BYTECODE = 200,
	TYPE_CODE = 201,
	TYPE_FUNCTION = 2106, /* of async functions */
	TYPE_GENERATOR = 2107,
	TYPE_PROMISE = 2063,
	TYPE_REACTION = 163,
	TYPE_CAPABILITY = 164,
	TYPE_REQUEST = 165,
	TYPE_INTERPRETER_DATA = 166,
	TYPE_BOUND = 2060,
	TYPE_FULFILL_JOB = 144,
	TYPE_REJECT_JOB = 145,
	TYPE_CONTEXT = 205,
	TYPE_UNDEFINED = 131,
	EXECUTES = -2,
	NUMBER = 235, /* of the first builtin */
	DATA = 54,    /* of bytecode */
	DEOPT = 16,
};

static struct sw_v8_layout layout = {
	.major = 11,
	.function_first = TYPE_JSFUNCTION,
	.function_last = TYPE_JSFUNCTION + 14,
	.type_shared = TYPE_SHARED,
	.type_bytecode = TYPE_BYTECODE,
	.type_code = TYPE_CODE,
	.type_wrapper = SW_V8_NONE,
	.function_shared = 24,
	.shared_name = 16,
	.shared_script = 32,
	.bytecode_data = DATA,
	.code_deopt = DEOPT,
	.awaits = {.type_function = TYPE_FUNCTION,
		   .type_generator = TYPE_GENERATOR,
		   .type_promise = TYPE_PROMISE,
		   .type_reaction = TYPE_REACTION,
		   .type_capability = TYPE_CAPABILITY,
		   .type_request = TYPE_REQUEST,
		   .type_interpreter_data = TYPE_INTERPRETER_DATA,
		   .type_bound = TYPE_BOUND,
		   .type_fulfill_job = TYPE_FULFILL_JOB,
		   .type_reject_job = TYPE_REJECT_JOB,
		   .reaction_next = 8,
		   .has_types = true,
		   .has_builtins = true},
};

static const char unread[] = "what awaits it could not be read";

static uint64_t undefined;

static int setup(void **state)
{
	v8_heap_reset();
	for (int32_t i = 0; i < SW_V8_AWAIT_BUILTINS; i++)
		layout.awaits.builtins[i] = NUMBER + i;
	undefined = v8_make(TYPE_UNDEFINED, 32);
	return 0;
}

/* A JSFunction with that as its code and in a context with those two slots. */
static uint64_t make_closure(uint64_t data, uint64_t slot_two, uint64_t slot_three)
{
	uint64_t function = v8_make(TYPE_JSFUNCTION, 64), shared = v8_make(TYPE_SHARED, 64);
	uint64_t context = v8_make(TYPE_CONTEXT, 64);
	v8_put(function, 8, undefined);
	v8_put(function, 24, shared);
	v8_put(function, 32, context);
	v8_put(shared, 8, data);
	v8_put(context, 32, slot_two);
	v8_put(context, 40, slot_three);
	return function;
}

static uint64_t make_builtin(enum sw_v8_await_builtin builtin, uint64_t slot_two,
			     uint64_t slot_three)
{
	return make_closure(v8_smi(NUMBER + (int32_t) builtin), slot_two, slot_three);
}

static uint64_t make_promise(void)
{
	uint64_t promise = v8_make(TYPE_PROMISE, 48);
	v8_put(promise, 32, v8_smi(4)); /* pending */
	return promise;
}

/* An async function; its shared is the one of bytecode. */
static uint64_t make_async(int32_t continuation, int32_t position, uint64_t promise)
{
	uint64_t g = v8_make(TYPE_FUNCTION, 96);
	v8_put(g, 24, make_closure(v8_make(TYPE_BYTECODE, 64), 0, 0));
	v8_put(g, 48, v8_smi(position));
	v8_put(g, 64, v8_smi(continuation));
	v8_put(g, 80, promise);
	return g;
}

static uint64_t make_reaction(uint64_t promise, uint64_t fulfill, uint64_t reject, uint64_t settles)
{
	uint64_t reaction = v8_make(TYPE_REACTION, 48);
	v8_put(promise, 24, reaction);
	v8_put(reaction, 16, reject);
	v8_put(reaction, 24, fulfill);
	v8_put(reaction, 32, settles);
	return reaction;
}

static uint64_t awaited_by(uint64_t promise, int32_t position, uint64_t settles)
{
	uint64_t g = make_async(0, position, settles);
	make_reaction(promise, make_builtin(SW_V8_AWAIT_RESOLVE, g, 0),
		      make_builtin(SW_V8_AWAIT_REJECT, g, 0), undefined);
	return g;
}

static struct sw_v8_await_chain begin(uint64_t promise, struct sw_v8_await *ret)
{
	struct sw_v8_await_chain chain;
	uint64_t g = make_async(EXECUTES, 0, promise);
	assert_true(sw_v8_await_begin(v8_heap(&layout), make_builtin(SW_V8_AWAIT_RESOLVE, g, 0),
				      ret, &chain));
	assert_int_equal(ret->object, g);
	assert_int_equal(ret->offset, -1);
	return chain;
}

static void expect_end(struct sw_v8_await_chain *chain, const char *cut, const char *several)
{
	struct sw_v8_await await;
	assert_false(sw_v8_await_next(chain, &await));
	assert_false(sw_v8_await_next(chain, &await));
	if (cut == NULL)
		assert_null(chain->cut_why);
	else
		assert_string_equal(chain->cut_why, cut);
	if (several == NULL)
		assert_null(chain->several_why);
	else
		assert_string_equal(chain->several_why, several);
}

TEST_WITH(test_chain, setup, NULL)
{
	uint64_t p1 = make_promise(), p2 = make_promise(), p3 = make_promise();
	uint64_t g2 = awaited_by(p1, 60, p2), g3 = awaited_by(p2, DATA - 1, p3);
	struct sw_v8_await await;
	struct sw_v8_await_chain chain = begin(p1, &await);
	assert_true(sw_v8_await_next(&chain, &await));
	assert_int_equal(await.object, g2);
	assert_int_equal(await.offset, 60 - (DATA - 1));
	assert_true(await.bytecode != 0);
	assert_null(await.combinator);
	assert_true(sw_v8_await_next(&chain, &await));
	assert_int_equal(await.object, g3);
	assert_int_equal(await.offset, 0);
	expect_end(&chain, NULL, NULL);
}

TEST_WITH(test_code, setup, NULL)
{
	struct sw_v8_await await;
	uint64_t p1 = make_promise(), g = awaited_by(p1, 60, make_promise()), function, shared;
	memcpy(&function, v8_heap_bytes + (g - 1 + 24 - V8_HEAP), 8);
	memcpy(&shared, v8_heap_bytes + (function - 1 + 24 - V8_HEAP), 8);
	/* Compiled; and with a copy of the interpreter of its own. */
	uint64_t code = v8_make(TYPE_CODE, 64), data = v8_make(TYPE_INTERPRETER_DATA, 32);
	uint64_t bytecode = v8_make(TYPE_BYTECODE, 64);
	v8_put(shared, 8, code);
	v8_put(code, DEOPT, data);
	v8_put(data, 8, bytecode);
	struct sw_v8_await_chain chain = begin(p1, &await);
	assert_true(sw_v8_await_next(&chain, &await));
	assert_int_equal(await.bytecode, bytecode);
	v8_put(data, 8, undefined);
	chain = begin(p1, &await);
	assert_true(sw_v8_await_next(&chain, &await));
	assert_int_equal(await.bytecode, 0);
	assert_int_equal(await.offset, -1);
}

TEST_WITH(test_combinators, setup, NULL)
{
	static const struct {
		enum sw_v8_await_builtin builtin;
		const char *name;
	} all[] = {{SW_V8_ALL_ELEMENT, "Promise.all"},
		   {SW_V8_SETTLED_ELEMENT, "Promise.allSettled"},
		   {SW_V8_ANY_ELEMENT, "Promise.any"}};
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		uint64_t p1 = make_promise(), p2 = make_promise();
		uint64_t g = awaited_by(p2, 60, make_promise());
		uint64_t capability = v8_make(TYPE_CAPABILITY, 32);
		v8_put(capability, 8, p2);
		uint64_t closure = make_builtin(all[i].builtin, 0, capability);
		v8_put(closure, 8, v8_smi(8));
		bool rejects = all[i].builtin == SW_V8_ANY_ELEMENT;
		make_reaction(p1, rejects ? make_builtin(SW_V8_CAPABILITY_RESOLVE, p2, 0) : closure,
			      rejects ? closure : undefined, undefined);
		struct sw_v8_await await;
		struct sw_v8_await_chain chain = begin(p1, &await);
		assert_true(sw_v8_await_next(&chain, &await));
		assert_string_equal(await.combinator, all[i].name);
		assert_int_equal(await.element, 7);
		assert_int_equal(await.shared, 0);
		assert_true(sw_v8_await_next(&chain, &await));
		assert_int_equal(await.object, g);
		expect_end(&chain, NULL, NULL);
		/* The closure was called before: its context is another one. */
		v8_put(closure, 8, undefined);
		uint64_t native = v8_make(TYPE_CONTEXT, 64);
		v8_put(native, 40, undefined);
		v8_put(closure, 32, native);
		chain = begin(p1, &await);
		assert_true(sw_v8_await_next(&chain, &await));
		assert_int_equal(await.element, -1);
		expect_end(&chain, NULL, NULL);
	}
}

TEST_WITH(test_promises, setup, NULL)
{
	uint64_t p[5], capability = v8_make(TYPE_CAPABILITY, 32);
	struct sw_v8_await await;
	for (size_t i = 0; i < 5; i++)
		p[i] = make_promise();
	v8_put(capability, 8, p[3]);
	make_reaction(p[0], make_builtin(SW_V8_CAPABILITY_RESOLVE, p[1], 0), undefined, undefined);
	make_reaction(p[1], make_closure(v8_smi(1), 0, 0), undefined,
		      p[2]); /* of the program's then() */
	make_reaction(p[2], undefined, undefined, capability);
	uint64_t g = awaited_by(p[3], 60, p[4]);
	struct sw_v8_await_chain chain = begin(p[0], &await);
	assert_true(sw_v8_await_next(&chain, &await));
	assert_int_equal(await.object, g);
	expect_end(&chain, NULL, NULL);
	/* The promise is settled already: what it has is no reaction, whatever it looks like. */
	v8_put(p[0], 32, v8_smi(5));
	chain = begin(p[0], &await);
	expect_end(&chain, NULL, NULL);
	v8_put(p[0], 32, v8_smi(4));
	/* Nobody is told. */
	make_reaction(p[2], undefined, undefined, undefined);
	chain = begin(p[0], &await);
	expect_end(&chain, NULL, NULL);
}

TEST_WITH(test_several, setup, NULL)
{
	struct sw_v8_await await;
	uint64_t p1 = make_promise(), p2 = make_promise();
	awaited_by(p1, 60, make_promise());
	uint64_t first = make_reaction(p2, undefined, undefined, p1);
	uint64_t second = make_reaction(p2, undefined, undefined, p1);
	v8_put(second, 8, first);
	struct sw_v8_await_chain chain = begin(p2, &await);
	expect_end(&chain, NULL, "more than one waits for what it returns");
	v8_put(second, 8, p1); /* that is none */
	chain = begin(p2, &await);
	expect_end(&chain, unread, NULL);
}

TEST_WITH(test_generator, setup, NULL)
{
	uint64_t p1 = make_promise(), p2 = make_promise(), request = v8_make(TYPE_REQUEST, 48);
	uint64_t g = make_async(0, 70, request);
	uint16_t type = TYPE_GENERATOR;
	memcpy(v8_heap_bytes + (g - 1 - 16 + 12 - V8_HEAP), &type, sizeof(type));
	v8_put(request, 32, p2);
	make_reaction(p1, make_builtin(SW_V8_GENERATOR_RESOLVE, g, 0), undefined, undefined);
	uint64_t reader = awaited_by(p2, 60, make_promise());
	struct sw_v8_await await;
	struct sw_v8_await_chain chain = begin(p1, &await);
	assert_true(sw_v8_await_next(&chain, &await));
	assert_int_equal(await.object, g);
	assert_true(sw_v8_await_next(&chain, &await));
	assert_int_equal(await.object, reader);
	expect_end(&chain, NULL, NULL);
	/* Nobody asks for a value. */
	v8_put(g, 80, undefined);
	chain = begin(p1, &await);
	assert_true(sw_v8_await_next(&chain, &await));
	expect_end(&chain, NULL, NULL);
}

TEST_WITH(test_begin, setup, NULL)
{
	struct sw_v8_await await;
	struct sw_v8_await_chain chain;
	uint64_t running = make_async(EXECUTES, 0, make_promise());
	uint64_t waits = make_async(3, 0, make_promise()), done = make_async(-1, 0, make_promise());
	uint64_t closure = make_builtin(SW_V8_AWAIT_REJECT, running, 0);
	assert_true(sw_v8_await_begin(v8_heap(&layout), closure, &await, &chain));
	assert_false(sw_v8_await_is_over(v8_heap(&layout), closure));
	layout.awaits.has_types = false;
	assert_false(sw_v8_await_begin(v8_heap(&layout), closure, &await, &chain));
	layout.awaits.has_types = true;
	layout.awaits.has_builtins = false;
	assert_false(sw_v8_await_begin(v8_heap(&layout), closure, &await, &chain));
	layout.awaits.has_builtins = true;
	closure = make_builtin(SW_V8_AWAIT_RESOLVE, waits, 0);
	assert_false(sw_v8_await_begin(v8_heap(&layout), closure, &await, &chain));
	assert_true(sw_v8_await_is_over(v8_heap(&layout), closure));
	closure = make_builtin(SW_V8_AWAIT_RESOLVE, done, 0);
	assert_false(sw_v8_await_begin(v8_heap(&layout), closure, &await, &chain));
	assert_true(sw_v8_await_is_over(v8_heap(&layout), closure));
	/* Builtins other than those that continue. */
	closure = make_builtin(SW_V8_ALL_ELEMENT, running, 0);
	assert_false(sw_v8_await_begin(v8_heap(&layout), closure, &await, &chain));
	closure = make_closure(v8_make(TYPE_BYTECODE, 64), running, 0);
	assert_false(sw_v8_await_begin(v8_heap(&layout), closure, &await, &chain));
	closure = make_builtin(SW_V8_AWAIT_RESOLVE, undefined, 0);
	assert_false(sw_v8_await_begin(v8_heap(&layout), closure, &await, &chain));
	assert_false(sw_v8_await_is_over(v8_heap(&layout), closure));
}

TEST_WITH(test_lies, setup, NULL)
{
	struct sw_v8_await await;
	struct sw_v8_await_chain chain;
	uint64_t p1 = make_promise(), p2 = make_promise();
	/* The awaited function executes itself. */
	uint64_t running = make_async(EXECUTES, 0, p2);
	make_reaction(p1, make_builtin(SW_V8_AWAIT_RESOLVE, running, 0), undefined, undefined);
	chain = begin(p1, &await);
	expect_end(&chain, unread, NULL);
	v8_put(p1, 24, undefined); /* neither a reaction nor none */
	chain = begin(p1, &await);
	expect_end(&chain, unread, NULL);
	v8_put(p1, 24, V8_HEAP + 4 * V8_HEAP_BYTES + 1);
	chain = begin(p1, &await);
	expect_end(&chain, unread, NULL);
	/* The object has another type where V8 has a promise. */
	uint64_t g = make_async(EXECUTES, 0, undefined);
	uint64_t closure = make_builtin(SW_V8_AWAIT_RESOLVE, g, 0);
	assert_true(sw_v8_await_begin(v8_heap(&layout), closure, &await, &chain));
	expect_end(&chain, unread, NULL);
}

/* Each loop has a limit. */
TEST_WITH(test_cycles, setup, NULL)
{
	struct sw_v8_await await;
	uint64_t p1 = make_promise(), p2 = make_promise();
	awaited_by(p1, 60, p2);
	awaited_by(p2, 60, p1);
	struct sw_v8_await_chain chain = begin(p1, &await);
	for (size_t i = 0; i < SW_V8_AWAITS_MAX; i++)
		assert_true(sw_v8_await_next(&chain, &await));
	expect_end(&chain, "there are more than are looked at", NULL);
	make_reaction(p1, undefined, undefined, p1);
	chain = begin(p1, &await);
	expect_end(&chain, "there are more than are looked at", NULL);
	assert_true(v8_heap_fake.reads < 100 * SW_V8_PROMISES_MAX);
}

static uint64_t make_job(uint16_t type, uint64_t handler, uint64_t settles)
{
	uint64_t job = v8_make(type, 48);
	v8_put(job, 24, handler);
	v8_put(job, 32, settles);
	return job;
}

static bool job_is(uint64_t job, uint64_t *ret_function, struct sw_v8_await *ret,
		   struct sw_v8_await_chain *ret_chain)
{
	return sw_v8_await_job(v8_heap(&layout), job, ret_function, ret, ret_chain);
}

/* A handler of a promise, and who awaits what it returns. */
TEST_WITH(test_job, setup, NULL)
{
	uint64_t p1 = make_promise(), g = awaited_by(p1, 60, make_promise()), function;
	uint64_t handler = make_closure(v8_make(TYPE_BYTECODE, 64), 0, 0);
	uint64_t bound = v8_make(TYPE_BOUND, 48), job = make_job(TYPE_FULFILL_JOB, handler, p1);
	struct sw_v8_await await;
	struct sw_v8_await_chain chain;
	assert_true(job_is(job, &function, &await, &chain));
	assert_int_equal(function, handler);
	assert_int_equal(await.object, job);
	assert_int_equal(await.offset, -1);
	assert_true(sw_v8_await_next(&chain, &await));
	assert_int_equal(await.object, g);
	expect_end(&chain, NULL, NULL);
	/* Bound, and of a promise that was rejected. */
	v8_put(bound, 24, handler);
	assert_true(job_is(make_job(TYPE_REJECT_JOB, bound, p1), &function, &await, &chain));
	assert_int_equal(function, handler);
	/* Nobody wants what it returns. */
	assert_true(
		job_is(make_job(TYPE_FULFILL_JOB, handler, undefined), &function, &await, &chain));
	expect_end(&chain, NULL, NULL);
	/* Another microtask; one that calls a builtin, nothing, or what is bound to itself. */
	assert_false(job_is(make_job(TYPE_REACTION, handler, p1), &function, &await, &chain));
	assert_false(job_is(make_job(TYPE_FULFILL_JOB, make_builtin(SW_V8_AWAIT_RESOLVE, g, 0), p1),
			    &function, &await, &chain));
	assert_false(job_is(make_job(TYPE_FULFILL_JOB, undefined, p1), &function, &await, &chain));
	v8_put(bound, 24, bound);
	assert_false(job_is(make_job(TYPE_FULFILL_JOB, bound, p1), &function, &await, &chain));
	assert_false(job_is(v8_smi(1), &function, &await, &chain));
	assert_false(job_is(0x7fffffff1, &function, &await, &chain));
}
