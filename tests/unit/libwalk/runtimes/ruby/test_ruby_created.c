/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/ruby/created: fibers that have not begun, by a list of which nothing is believed. */
#include "ruby_fiber_world.h"
#include "runtimes/ruby/created.h"
#include "test.h"

enum {
	CREATED = RUBY_FIBER_CONTEXTS,
	BEGUN = RUBY_FIBER_CONTEXTS + 0x20,
	OWN = RUBY_FIBER_CONTEXTS + 0x40, /* of the fiber that the thread began with */
	PREV = 8,
	NEXT = 16,
	NOWHERE = 0x66660000,
	MANY = 0x20000000, /* contexts without end, each of one and the same fiber; from there on, */
	MANY_END = MANY + 24 * 10000000, /* or from there back */
};

static struct ruby_fiber_world world;
static const struct sw_ruby_vm *vm;
static struct sw_ruby_created got[4];
static size_t n_got, wanted;

static bool each(void *arg, const struct sw_ruby_created *created)
{
	assert_ptr_equal(arg, &world);
	if (n_got < sizeof(got) / sizeof(*got))
		got[n_got] = *created;
	return ++n_got < wanted;
}

static int setup(void **state)
{
	ruby_fiber_world_init(&world);
	vm = &world.base.ruby.vm;
	wanted = SIZE_MAX;
	return 0;
}

static int teardown(void **state)
{
	ruby_fiber_world_deinit(&world);
	return 0;
}

static const char *look(uint64_t ec_avma)
{
	n_got = 0;
	return sw_ruby_created_each(vm, ec_avma, each, &world);
}

static void put(uint64_t avma, uint64_t value)
{
	ruby_fiber_world_u64(&world, avma, value);
}

TEST_WITH(test_all, setup, teardown)
{
	static const uint64_t from[] = {RUBY_EC, RUBY_FIBER_EC};
	for (size_t i = 0; i < 2; i++) {
		assert_null(look(from[i]));
		assert_int_equal(n_got, 1);
		assert_int_equal(got[0].object_avma, RUBY_FIBER_CREATED_OBJECT);
		assert_int_equal(got[0].iseq_avma, RUBY_ISEQS);
	}
	/* Both sides of the first are looked at. */
	put(CREATED + NEXT, OWN);
	ruby_fiber_world_u64(&world, OWN + PREV, CREATED);
	put(BEGUN + PREV, 0);
	put(BEGUN + NEXT, CREATED);
	put(CREATED + PREV, BEGUN);
	assert_null(look(RUBY_FIBER_EC));
	assert_int_equal(n_got, 1);
	assert_null(look(RUBY_EC));
	assert_int_equal(n_got, 1);
}

/* Each part that says that it has not begun, and leads back. */
TEST_WITH(test_fiber, setup, teardown)
{
	static const struct {
		uint64_t off, value;
	} rows[] = {
		{0, 0},                                  /* a continuation */
		{16, 0},                                 /* has no object */
		{16, 0x7f00aaa9},                        /* no pointer */
		{80 + SW_RUBY_EC_FIBER, RUBY_FIBER},     /* another's context */
		{80 + SW_RUBY_EC_STACK, 0x1000},         /* has a VM stack */
		{RUBY_FIBER_CONTEXT_OFF, BEGUN},         /* another's place in the list */
		{RUBY_FIBER_CONTEXT_OFF + 8, 0},         /* is being made */
		{RUBY_FIBER_CONTEXT_OFF + 32, 1},        /* runs */
		{RUBY_FIBER_CONTEXT_OFF + 32, 2},        /* is suspended */
		{RUBY_FIBER_CONTEXT_OFF + 32, 3},        /* has ended */
		{RUBY_FIBER_CONTEXT_OFF + 56, 0x700000}, /* has a stack */
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint64_t avma = RUBY_FIBER_CREATED + rows[i].off,
			 kept = ruby_fiber_world_get(&world, avma);
		put(avma, rows[i].value);
		assert_null(look(RUBY_EC));
		assert_int_equal(n_got, 0);
		put(avma, kept);
	}
	put(CREATED, NOWHERE); /* its context is not there */
	assert_null(look(RUBY_EC));
	assert_int_equal(n_got, 0);
}

TEST_WITH(test_block, setup, teardown)
{
	static const struct {
		uint64_t avma, value;
	} rows[] = {
		{RUBY_FIBER_CREATED + RUBY_FIBER_CONTEXT_OFF + 8, NOWHERE},
		{RUBY_FIBER_CREATED + RUBY_FIBER_CONTEXT_OFF + 8, RUBY_FIBER_PROC + 4},
		{RUBY_FIBER_PROC, SW_RUBY_STRING},
		{RUBY_FIBER_PROC + 24, 3}, /* where that is is not known */
		{RUBY_FIBER_PROC + SW_RUBY_DATA_POINTER, 0},
		{RUBY_FIBER_PROC + SW_RUBY_DATA_POINTER, UINT64_MAX - 7},
		{RUBY_FIBER_PROC + 0x40 + 24, 1}, /* C code */
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint64_t kept = ruby_fiber_world_get(&world, rows[i].avma);
		put(rows[i].avma, rows[i].value);
		assert_null(look(RUBY_EC));
		assert_int_equal(n_got, 1);
		assert_int_equal(got[0].iseq_avma, 0);
		put(rows[i].avma, kept);
	}
}

/* Lists that are none. */
TEST_WITH(test_list, setup, teardown)
{
	static const char *const unread = "the list of fibers could not be read";
	static const struct {
		uint64_t avma, value;
	} rows[] = {
		{BEGUN + PREV, BEGUN}, /* leads to itself */
		{BEGUN + PREV, OWN},   /* a circle */
		{BEGUN + PREV, NOWHERE},
		{BEGUN + PREV, CREATED + 4},
		{BEGUN + NEXT, CREATED}, /* does not lead back */
		{CREATED + NEXT, OWN},
		{CREATED, 0}, /* has no context */
		{CREATED, 7},
		{CREATED + PREV, CREATED},
		{CREATED + PREV, UINT64_MAX - 7},
		{OWN + NEXT, OWN},
		{OWN + NEXT, NOWHERE},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint64_t kept = ruby_fiber_world_get(&world, rows[i].avma);
		put(rows[i].avma, rows[i].value);
		world.fake.reads = 0;
		assert_string_equal(look(RUBY_EC), unread);
		assert_true(world.fake.reads < 128);
		put(rows[i].avma, kept);
	}
	/* A list that closes is gone round once. */
	put(OWN + NEXT, CREATED);
	put(CREATED + PREV, OWN);
	assert_string_equal(look(RUBY_EC), unread);
	assert_int_equal(n_got, 2); /* from either side */
	ruby_world_u64(&world.base, RUBY_EC - 80 + RUBY_FIBER_CONTEXT_OFF, NOWHERE);
	assert_string_equal(look(RUBY_EC), "the list of fibers was not found");
	assert_string_equal(look(0), "the list of fibers was not found");
	assert_string_equal(look(UINT64_MAX - 7), "the list of fibers was not found");
}

static size_t n_many; /* that were read */

/* A context at each address, each leads to the one behind it. */
static bool many_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	uint64_t words[3] = {RUBY_FIBER_CREATED + 80, avma - 24, avma + 24};
	if (avma < MANY || avma >= MANY + 0x10000000)
		return sw_memory_read(fake_memory(&world.fake), avma, buffer, length);
	if (avma == MANY)
		words[1] = OWN;
	if (avma == MANY_END)
		words[2] = OWN;
	n_many++;
	if (length > sizeof(words))
		return false;
	memcpy(buffer, words, length);
	return true;
}

TEST_WITH(test_limit, setup, teardown)
{
	static const struct sw_memory_ops ops = {.read = many_read};
	const struct sw_ruby_vm many = {.memory = {&ops, NULL}, .found = vm->found};
	put(OWN + NEXT, MANY);
	n_got = 0;
	assert_string_equal(sw_ruby_created_each(&many, RUBY_EC, each, &world),
			    "there are too many fibers");
	assert_int_equal(n_got, 1); /* the others are not theirs */
	assert_true(world.fake.reads < 4 * SW_RUBY_CONTEXTS_MAX);
	/* The limit is one of both sides together. */
	const uint64_t before_avma = ruby_fiber_world_get(&world, OWN + PREV);
	put(OWN + PREV, MANY_END);
	n_many = 0;
	assert_string_equal(sw_ruby_created_each(&many, RUBY_EC, each, &world),
			    "there are too many fibers");
	assert_in_range(n_many, SW_RUBY_CONTEXTS_MAX, 4 * SW_RUBY_CONTEXTS_MAX);
	put(OWN + PREV, before_avma);
	put(OWN + NEXT, 0);
	wanted = 1;
	assert_null(look(RUBY_EC));
	world.layout.lists_contexts = false;
	assert_null(look(RUBY_EC));
	assert_int_equal(n_got, 0);
}
