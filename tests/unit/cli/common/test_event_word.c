/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/event_word.h"
#include "test.h"

TEST(test_call_with_conditions)
{
	struct sw_options o = {0};
	struct sw_usage usage;
	assert_true(sw_event_parse(&o, "syscall:write fd=2  arg1=0x10", &usage));
	assert_string_equal(o.event_call, "write");
	assert_int_equal(o.event.call, 1);
	assert_int_equal(o.event.call_32, 4);
	assert_int_equal(o.event.n_tests, 2);
	assert_int_equal(o.event.tests[0].argument, 0);
	assert_int_equal(o.event.tests[0].value, 2);
	assert_true(o.event.tests[0].is_int);
	assert_int_equal(o.event.tests[1].argument, 1);
	assert_int_equal(o.event.tests[1].value, 16);
	assert_false(o.event.tests[1].is_int);
	assert_false(o.event.at_begin);
}

TEST(test_what_is_known_of_calls)
{
	struct sw_options o = {.errno_given = true, .errno_number = ENOENT};
	struct sw_usage usage;
	assert_true(sw_event_parse(&o, "syscall:connect", &usage));
	assert_int_equal(o.event.bytes, 2);
	assert_int_equal(o.event.n_bytes, 3);
	assert_true(sw_event_parse(&o, "syscall:execve", &usage));
	assert_int_equal(o.event.text, 1);
	assert_true(o.event.at_begin);
	/* An error is known when it returns. */
	sw_event_finish(&o);
	assert_false(o.event.at_begin);
	assert_true(o.event.failed);
	assert_int_equal(o.event.error, ENOENT);
}

TEST(test_refused)
{
	static const char *const words[] = {"write",
					    "syscall:",
					    "syscall:nothing",
					    "syscall:write fd",
					    "syscall:write fd=",
					    "syscall:write fd=2x",
					    "syscall:write arg6=1",
					    "syscall:write =1",
					    "syscall:write fd=0x10000000000000000",
					    "syscall:write fd=1 fd=1 fd=1 fd=1 fd=1 fd=1 fd=1"};
	struct sw_usage usage;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		struct sw_options o = {0};
		assert_false(sw_event_parse(&o, words[i], &usage));
		assert_true(usage.message[0] != '\0');
	}
}

TEST(test_what_may_be_meant)
{
	static const struct {
		const char *word, *remedy;
	} cases[] = {
		{"syscal:openat", "did you mean 'syscall:openat'?"},
		{"fnc:libssl:SSL_read", "did you mean 'func:libssl:SSL_read'?"},
		{"udst:", "did you mean 'usdt:'?"},
		{"deth", "did you mean 'death'?"},
		{"exce", "did you mean 'exec'?"},
		{"openat", "did you mean 'syscall:openat'?"},
		{"syscall:opennat", "did you mean 'syscall:openat'?"},
		{"syscall:acept4", "did you mean 'syscall:accept4'?"},
		{"syscall:nothing", "see syscalls(2)"},
		{"4242", "give the event first, as in snapwalk on syscall:openat 4242"},
		{"nothing", "see 'snapwalk help on'"},
		{"nothing:at:all", "see 'snapwalk help on'"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sw_options o = {0};
		struct sw_usage usage;
		assert_false(sw_event_parse(&o, cases[i].word, &usage));
		assert_string_equal(usage.remedy, cases[i].remedy);
	}
}

/* "::" is no colon: it is of a name of C++. */
TEST(test_functions)
{
	struct sw_options o = {0};
	struct sw_usage usage;
	assert_true(sw_event_parse(&o, "func:shop::add(int, char const*)", &usage));
	assert_int_equal(o.event.what, SW_EVENT_FUNCTION);
	assert_null(o.event_module);
	assert_string_equal(o.event_name, "shop::add(int, char const*)");
	assert_true(sw_event_parse(&o, "func:libshop.so:shop::add", &usage));
	assert_string_equal(o.event_module, "libshop.so");
	assert_string_equal(o.event_name, "shop::add");
	sw_options_deinit(&o);
	assert_false(sw_event_parse(&o, "func:", &usage));
	assert_false(sw_event_parse(&o, "func::f", &usage));
	sw_options_deinit(&o);
}

TEST(test_other_events)
{
	struct sw_options o = {0};
	struct sw_usage usage;
	assert_true(sw_event_parse(&o, "blocked", &usage));
	assert_int_equal(o.event.what, SW_EVENT_BLOCKED);
	assert_true(sw_event_parse(&o, "exec", &usage));
	assert_string_equal(o.event_call, "execve");
	assert_true(o.event.at_begin);
	assert_true(sw_event_parse(&o, "mmap", &usage));
	o.larger_bytes = 4096;
	sw_event_finish(&o);
	assert_int_equal(o.event.least_of, 2);
	assert_int_equal(o.event.least, 4096);
	assert_false(sw_event_parse(&o, "deaths", &usage));
	static const struct {
		const char *word;
		enum sw_event_what what;
	} words[] = {{"death", SW_EVENT_DEATH},
		     {"thread", SW_EVENT_NEW_THREADS},
		     {"process", SW_EVENT_NEW_PROCESSES},
		     {"fault", SW_EVENT_FAULTS}};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		assert_true(sw_event_parse(&o, words[i].word, &usage));
		assert_int_equal(o.event.what, words[i].what);
		assert_string_equal(o.event_name, words[i].word);
	}
}

/* Each 16th page fault, if nothing else is asked for. */
TEST(test_faults)
{
	struct sw_options o = {0};
	struct sw_usage usage;
	assert_true(sw_event_parse(&o, "fault", &usage));
	sw_event_finish(&o);
	assert_int_equal(o.event.every, 16);
	o.every = 1;
	sw_event_finish(&o);
	assert_int_equal(o.event.every, 1);
	assert_false(sw_event_parse(&o, "faults", &usage));
	assert_string_equal(usage.remedy, "did you mean 'fault'?");
}

/* How long a function takes is known when it returns. */
TEST(test_returns)
{
	struct sw_options o = {.slower_ns = 5};
	struct sw_usage usage;
	assert_true(sw_event_parse(&o, "func:f", &usage));
	sw_event_finish(&o);
	assert_true(o.event.at_return);
	assert_int_equal(o.event.slower_ns, 5);
	o.slower_ns = 0;
	sw_event_finish(&o);
	assert_false(o.event.at_return);
	o.event_return = true;
	sw_event_finish(&o);
	assert_true(o.event.at_return);
}
