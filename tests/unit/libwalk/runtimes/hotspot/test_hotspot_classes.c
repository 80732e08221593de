/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/hotspot/classes: the class for whose initialisation a thread waits, by the words of its stack. */
#include "fake.h"
#include "runtimes/hotspot/classes.h"
#include "test.h"

enum {
	CLASSES = 0x100000, /* 0x40 each: state, who initialises it, name */
	CLASS_BYTES = 0x40,
	STATE_OFF = 8,
	THREAD_OFF = 16,
	NAME_OFF = 24,
	STACK = 0x700000,
	STACK_WORDS = 300,
	STACK_END = STACK + 8 * STACK_WORDS,
	INITIALISES = 3,
	SELF = 0x200000,
	OTHER = 0x200400,
};

static uint64_t classes[8 * CLASS_BYTES / 8], stack[STACK_WORDS];
static struct fake_region regions[2];
static struct fake_memory fake;
static struct sw_hotspot h;
static struct sw_hotspot_initialized found;

static bool is_other(void *arg, uint64_t thread_avma)
{
	return thread_avma == OTHER;
}

static uint64_t class_at(unsigned i)
{
	return CLASSES + (uint64_t) CLASS_BYTES * i;
}

static void class_put(unsigned i, uint64_t state, uint64_t thread, uint64_t name)
{
	uint64_t *words = classes + i * CLASS_BYTES / 8;
	words[STATE_OFF / 8] = state;
	words[THREAD_OFF / 8] = thread;
	words[NAME_OFF / 8] = name;
}

static void begin(void)
{
	memset(classes, 0, sizeof(classes));
	memset(stack, 0, sizeof(stack));
	memset(&h.at, 0xff, sizeof(h.at));
	regions[0] = (struct fake_region){CLASSES, (uint8_t *) classes, sizeof(classes)};
	regions[1] = (struct fake_region){STACK, (uint8_t *) stack, sizeof(stack)};
	fake = (struct fake_memory){.regions = regions, .n_regions = 2};
	h.memory = fake_memory(&fake);
	h.at.klass_init_state = STATE_OFF;
	h.at.klass_init_thread = THREAD_OFF;
	h.at.klass_name = NAME_OFF;
	h.at.state_initializing = INITIALISES;
	class_put(0, INITIALISES, OTHER, 0x300000);
	class_put(1, INITIALISES, SELF, 0x300000);
	class_put(2, INITIALISES, OTHER, 0x300040);
	class_put(3, 4, OTHER, 0x300000);
	class_put(4, INITIALISES, OTHER, 0x300004); /* names are aligned */
	class_put(5, INITIALISES, OTHER, 0);
	class_put(6, INITIALISES, 0, 0x300000);
	found = (struct sw_hotspot_initialized){0};
}

static bool is_found(uint64_t end)
{
	return sw_hotspot_initialized_find(&h, h.memory, STACK, end, is_other, NULL, &found);
}

TEST(test_the_class_on_the_stack)
{
	begin();
	assert_false(is_found(STACK_END));
	stack[3] = class_at(1); /* its own */
	assert_false(is_found(STACK_END));
	stack[62] = stack[70] = class_at(0);
	assert_true(is_found(STACK_END));
	assert_int_equal(found.klass, class_at(0));
	assert_int_equal(found.thread_avma, OTHER);
	stack[80] = class_at(2); /* which of the two it is cannot be told */
	assert_false(is_found(STACK_END));
}

TEST(test_words_that_are_no_class)
{
	static const uint64_t words[] = {
		CLASSES + 3 * CLASS_BYTES, /* it is initialised */
		CLASSES + 4 * CLASS_BYTES, /* its name is none */
		CLASSES + 5 * CLASS_BYTES,
		CLASSES + 6 * CLASS_BYTES,      /* nobody initialises it */
		CLASSES + 4,                    /* not aligned */
		CLASSES + sizeof(classes) - 16, /* its end is not there */
		0x40,
		UINT64_MAX,
		UINT64_MAX - 7,
		UINT64_C(1) << 47,
		STACK + 8,
	};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		begin();
		stack[10] = words[i];
		assert_false(is_found(STACK_END));
	}
	/* A stack may hold what looks like a class. */
	begin();
	stack[20 + STATE_OFF / 8] = INITIALISES;
	stack[20 + THREAD_OFF / 8] = OTHER;
	stack[20 + NAME_OFF / 8] = 0x300000;
	stack[10] = STACK + 8 * 20;
	assert_false(is_found(STACK_END));
}

TEST(test_how_far_is_looked)
{
	begin();
	stack[255] = class_at(0);
	assert_true(is_found(STACK_END));
	assert_false(is_found(STACK + 8 * 255)); /* the stack ends before */
	assert_true(is_found(STACK + 8 * 256));
	assert_false(is_found(STACK + 8 * 255 + 7));
	stack[255] = 0;
	stack[256] = class_at(0);
	assert_false(is_found(STACK_END));
	stack[4] = class_at(0);
	assert_false(is_found(STACK));
	assert_false(is_found(STACK - 8));
	assert_false(is_found(0));
	regions[1].size = 8 * 4; /* the word is not there */
	assert_false(is_found(STACK_END));
}

TEST(test_a_version_without_the_fields)
{
	int64_t *const fields[] = {&h.at.klass_init_state, &h.at.klass_init_thread,
				   &h.at.state_initializing};
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		begin();
		stack[4] = class_at(0);
		assert_true(is_found(STACK_END));
		*fields[i] = SW_HOTSPOT_NONE;
		assert_false(is_found(STACK_END));
	}
}
