/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parameters of programs at system calls, and what their records say. */
#include "sample/called.h"
#include "test.h"

static struct sw_event event; /* too large for a stack */

static struct sw_called_event parts_of[SW_EVENT_HANDLES_MAX + 2];
static struct sw_copy_part parts[SW_EVENT_HANDLES_MAX + 2];

static struct sw_copy copy_of(size_t n)
{
	struct sw_copy copy = {.parts = parts, .n_parts = n};
	for (size_t i = 0; i < n; i++)
		parts[i] = (struct sw_copy_part){.data = (const uint8_t *) &parts_of[i],
						 .bytes = sizeof(parts_of[i]),
						 .kind = SW_CALLED_EVENT};
	copy.head.time_ns = 77;
	copy.head.tid = 8;
	copy.regs.orig_rax = 257;
	copy.regs.rsi = 0x5000;
	return copy;
}

TEST(test_what_is_asked_for)
{
	struct sw_called_setup setup;
	enum sw_iterate_calls calls;
	struct sw_event_options o = {.call = 257,
				     .call_32 = 295,
				     .tests = {{.argument = 0, .value = UINT64_MAX, .is_int = true},
					       {.argument = 1, .value = UINT64_MAX}},
				     .n_tests = 2};
	assert_int_equal(sw_called_prepare(&o, false, &setup, &calls, NULL), 0);
	assert_int_equal(setup.number, 257);
	assert_int_equal(setup.error, 0);
	assert_int_equal(setup.tests[0].value, UINT32_MAX);
	assert_int_equal(setup.tests[0].mask, UINT32_MAX);
	assert_int_equal(setup.tests[1].mask, UINT64_MAX);
	assert_int_equal(calls, SW_ITERATE_CALL_RETURNS);
	o.failed = o.at_begin = true;
	assert_int_equal(sw_called_prepare(&o, true, &setup, &calls, NULL), 0);
	assert_int_equal(setup.number, 295);
	assert_int_equal(setup.error, SW_CALLED_ANY_ERROR);
	assert_int_equal(setup.tests[1].mask, UINT32_MAX);
	assert_int_equal(calls, SW_ITERATE_CALL_BEGINS);
	o.call_32 = -1;
	assert_int_equal(sw_called_prepare(&o, true, &setup, &calls, NULL), -SW_E_INVALID);
	o.what = SW_EVENT_DESCRIPTORS;
	assert_int_equal(sw_called_prepare(&o, true, &setup, &calls, NULL), -SW_E_INVALID);
	assert_int_equal(sw_called_prepare(&o, false, &setup, &calls, NULL), 0);
	assert_int_equal(calls, SW_ITERATE_DESCRIPTORS);
}

TEST(test_what_is_no_call)
{
	static const struct {
		enum sw_event_what what;
		enum sw_iterate_calls calls;
		uint64_t number;
		bool not_32bit;
	} cases[] = {{SW_EVENT_THREAD_LIVES, SW_ITERATE_LIVES, 0, false},
		     {SW_EVENT_DESCRIPTORS, SW_ITERATE_DESCRIPTORS, 0, true},
		     {SW_EVENT_MAPPINGS, SW_ITERATE_MAPPINGS, 0, true},
		     {SW_EVENT_TIMERS, SW_ITERATE_TIMERS, 0, true},
		     {SW_EVENT_SHM, SW_ITERATE_SHM, 0, true},
		     {SW_EVENT_EPOLLS, SW_ITERATE_EPOLLS, 0, true},
		     {SW_EVENT_FUNCTION, SW_ITERATE_FUNCTION_BEGINS, 0, true},
		     {SW_EVENT_DEATH, SW_ITERATE_DEATHS, 0, false},
		     {SW_EVENT_NEW_THREADS, SW_ITERATE_MADE, SW_CALLED_THREADS, false},
		     {SW_EVENT_NEW_PROCESSES, SW_ITERATE_MADE, SW_CALLED_PROCESSES, false},
		     {SW_EVENT_BLOCKED, SW_ITERATE_BLOCKED, 0, false},
		     {SW_EVENT_FAULTS, SW_ITERATE_FAULTS, 16, false}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sw_called_setup setup;
		enum sw_iterate_calls calls;
		const struct sw_event_options o = {.what = cases[i].what,
						   .slower_ns = 9,
						   .every = 16};
		bool slower = o.what == SW_EVENT_BLOCKED || o.what == SW_EVENT_FUNCTION;
		assert_int_equal(sw_called_prepare(&o, false, &setup, &calls, NULL), 0);
		assert_int_equal(calls, cases[i].calls);
		assert_int_equal(setup.number, cases[i].number);
		assert_int_equal(setup.slower_ns, slower ? 9 : 0);
		assert_int_equal(sw_called_prepare(&o, true, &setup, &calls, NULL),
				 cases[i].not_32bit ? -SW_E_INVALID : 0);
	}
	struct sw_called_setup setup;
	enum sw_iterate_calls calls;
	const struct sw_event_options o = {.what = SW_EVENT_FUNCTION, .at_return = true};
	assert_int_equal(sw_called_prepare(&o, false, &setup, &calls, NULL), 0);
	assert_int_equal(calls, SW_ITERATE_FUNCTION_RETURNS);
}

TEST(test_a_call)
{
	parts_of[0] = (struct sw_called_event){.number = 5,
					       .what = SW_CALLED_EXIT,
					       .value = {(uint64_t) -2}};
	struct sw_copy copy = copy_of(2);
	parts[1] = (struct sw_copy_part){.data = (const uint8_t *) "abc",
					 .bytes = 3,
					 .kind = SW_CALLED_TEXT};
	assert_true(sw_called_read(&copy, &event));
	assert_int_equal(event.kind, SW_EVENT_CALLED);
	assert_int_equal(event.number, 5);
	assert_int_equal(event.time_ns, 77);
	assert_int_equal(event.tid, 8);
	assert_true(event.returned);
	assert_int_equal(event.result, -2);
	assert_int_equal(event.call, 257);
	assert_int_equal(event.arguments[1], 0x5000);
	assert_int_equal(event.text_size, 3);
	assert_null(event.bytes);
}

TEST(test_descriptors)
{
	parts_of[0] = (struct sw_called_event){.number = 6,
					       .what = SW_CALLED_ACQUIRED,
					       .value = {3, 4, 5}};
	parts_of[1] = (struct sw_called_event){.number = 6,
					       .what = SW_CALLED_ACQUIRED,
					       .value = {7, 8, 9}};
	struct sw_copy copy = copy_of(2);
	assert_true(sw_called_read(&copy, &event));
	assert_int_equal(event.kind, SW_EVENT_ACQUIRED);
	assert_int_equal(event.n_handles, 2);
	assert_int_equal(event.handles[1].number, 7);
	assert_int_equal(event.handles[1].inode, 8);
	assert_int_equal(event.handles[1].file, 9);
	assert_null(event.text);
	/* More than there is space for. */
	for (size_t i = 0; i < SW_EVENT_HANDLES_MAX + 2; i++)
		parts_of[i] = (struct sw_called_event){.what = SW_CALLED_ACQUIRED, .value = {i}};
	copy = copy_of(SW_EVENT_HANDLES_MAX + 2);
	assert_true(sw_called_read(&copy, &event));
	assert_int_equal(event.n_handles, SW_EVENT_HANDLES_MAX);
	parts_of[0] = (struct sw_called_event){.what = SW_CALLED_RANGE, .value = {3, 9}};
	copy = copy_of(1);
	assert_true(sw_called_read(&copy, &event));
	assert_int_equal(event.kind, SW_EVENT_RANGE);
	assert_int_equal(event.n_handles, 2);
	assert_int_equal(event.handles[1].number, 9);
}

TEST(test_a_table)
{
	static const uint8_t bits[SW_CALLED_TABLE_BYTES];
	parts_of[0] = (struct sw_called_event){.what = SW_CALLED_TABLE_IS};
	struct sw_copy copy = copy_of(2);
	parts[1] = (struct sw_copy_part){.data = bits,
					 .bytes = SW_CALLED_TABLE_BYTES - 1,
					 .kind = SW_CALLED_TABLE};
	assert_true(sw_called_read(&copy, &event));
	assert_int_equal(event.kind, SW_EVENT_TABLE);
	assert_false(event.cut);
	parts[1].bytes = SW_CALLED_TABLE_BYTES; /* the maximum: there may be more */
	assert_true(sw_called_read(&copy, &event));
	assert_true(event.cut);
}

/* Functions: the arguments of the call are not those of the registers any more. */
TEST(test_a_function)
{
	static const uint64_t words[SW_EVENT_ARGUMENTS] = {1, 2, 3, 4, 5, 6};
	parts_of[0] = (struct sw_called_event){.number = 4,
					       .what = SW_CALLED_FUNCTION_RETURNS,
					       .value = {9, 1000, 2}};
	struct sw_copy copy = copy_of(2);
	parts[1] = (struct sw_copy_part){.data = (const uint8_t *) words,
					 .bytes = sizeof(words),
					 .kind = SW_CALLED_WORDS};
	assert_true(sw_called_read(&copy, &event));
	assert_int_equal(event.kind, SW_EVENT_LEFT);
	assert_int_equal(event.result, 9);
	assert_int_equal(event.lasted_ns, 1000);
	assert_int_equal(event.place, 2);
	assert_int_equal(event.arguments[5], 6);
}

/* Words that the kernel has replaced, of which one is not in the copy and one only half. */
TEST(test_replaced_words)
{
	static const struct sw_called_replaced replaced[] = {{0x7008, 0x401111},
							     {0x6ff0, 0x402222},
							     {0x701c, 0x403333}};
	uint64_t stack[4] = {1, 2, 3, 4};
	struct sw_copy copy = copy_of(1);
	parts[0] = (struct sw_copy_part){.data = (const uint8_t *) replaced,
					 .bytes = sizeof(replaced),
					 .kind = SW_CALLED_RETURNS};
	assert_int_equal(sw_called_put_back(&copy, 0x7000, (uint8_t *) stack, sizeof(stack)), 1);
	assert_int_equal(stack[0], 1);
	assert_int_equal(stack[1], 0x401111);
	assert_int_equal(stack[3], 4);
	assert_int_equal(sw_called_put_back(&copy, 0x7008, (uint8_t *) stack, 7), 0);
}

TEST(test_a_death)
{
	static const struct sw_called_death death = {.signal = 11,
						     .code = 1,
						     .flags = SW_CALLED_HAS_ADDRESS,
						     .address = 0x10,
						     .sender_comm = "0123456789abcdef"};
	parts_of[0] = (struct sw_called_event){.what = SW_CALLED_DIES};
	struct sw_copy copy = copy_of(2);
	parts[1] = (struct sw_copy_part){.data = (const uint8_t *) &death,
					 .bytes = sizeof(death),
					 .kind = SW_CALLED_DEATH};
	assert_true(sw_called_read(&copy, &event));
	assert_int_equal(event.kind, SW_EVENT_DIED);
	assert_int_equal(event.death.signal, 11);
	assert_true(event.death.has_address);
	assert_false(event.death.has_sender);
	assert_int_equal(event.death.address_avma, 0x10);
	assert_string_equal(event.death.sender_comm, "0123456789abcdef"); /* with an end */
	parts[1].bytes--;
	assert_true(sw_called_read(&copy, &event));
	assert_int_equal(event.death.signal, 0);
}

static void one_event(struct sw_called_event is)
{
	parts_of[0] = is;
	struct sw_copy copy = copy_of(1);
	event.lasted_ns = event.result = 55; /* of an event before */
	assert_true(sw_called_read(&copy, &event));
}

TEST(test_other_events)
{
	one_event((struct sw_called_event){.what = SW_CALLED_MAKES, .value = {12}});
	assert_int_equal(event.kind, SW_EVENT_MADE);
	assert_true(event.returned);
	assert_int_equal(event.result, 12);
	assert_int_equal(event.lasted_ns, 0);
	one_event((struct sw_called_event){.what = SW_CALLED_WAITS, .value = {0, 1300}});
	assert_int_equal(event.kind, SW_EVENT_WAITED);
	assert_false(event.returned);
	assert_int_equal(event.result, 0);
	assert_int_equal(event.lasted_ns, 1300);
	one_event((struct sw_called_event){.what = SW_CALLED_FAULTS,
					   .value = {0x7000, SW_CALLED_EXECUTES}});
	assert_int_equal(event.kind, SW_EVENT_FAULTED);
	assert_false(event.returned);
	assert_int_equal(event.n_arguments, 0);
	assert_int_equal(event.address_avma, 0x7000);
	assert_int_equal(event.access, SW_EVENT_EXECUTES);
	one_event((struct sw_called_event){.what = SW_CALLED_FUNCTION_BEGINS, .value = {0, 0, 3}});
	assert_int_equal(event.kind, SW_EVENT_ENTERED);
	assert_int_equal(event.place, 3);
	one_event((struct sw_called_event){.what = SW_CALLED_MAPS_BEGIN,
					   .value = {9, 0x1000, 0x3000}});
	assert_int_equal(event.kind, SW_EVENT_MAPS_BEGIN);
	assert_false(event.returned);
	assert_int_equal(event.call, 9);
	assert_int_equal(event.arguments[0], 0x1000);
	assert_int_equal(event.arguments[1], 0x3000);
	one_event((struct sw_called_event){.what = SW_CALLED_MAPS_END,
					   .value = {9, (uint64_t) -12, 0x2000}});
	assert_int_equal(event.kind, SW_EVENT_MAPS_END);
	assert_true(event.returned);
	assert_int_equal(event.call, 9);
	assert_int_equal(event.result, -12);
	assert_int_equal(event.arguments[0], 0x2000);
	one_event((struct sw_called_event){.what = SW_CALLED_PROGRAM, .value = {8}});
	assert_int_equal(event.kind, SW_EVENT_PROGRAM);
	assert_int_equal(event.n_handles, 1);
	assert_int_equal(event.handles[0].number, 8);
	one_event((struct sw_called_event){.what = SW_CALLED_RELEASED, .value = {8, 2, 3}});
	assert_int_equal(event.kind, SW_EVENT_RELEASED);
	assert_int_equal(event.handles[0].inode, 2);
}

TEST(test_no_event)
{
	parts_of[0] = (struct sw_called_event){.what = 99};
	struct sw_copy copy = copy_of(1);
	assert_false(sw_called_read(&copy, &event));
	parts[0].bytes--;
	parts_of[0].what = SW_CALLED_EXIT;
	assert_false(sw_called_read(&copy, &event));
	copy.n_parts = 0;
	assert_false(sw_called_read(&copy, &event));
}
