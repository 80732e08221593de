/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cleanup.h"
#include "errors.h"
#include "test.h"

#include <snapwalk/protocol.h>

static const struct sw_report_frame frames[] = {
	{.function = "lock_wait", .module = -1, .trust = "context"},
	{.function = "transfer", .module = -1, .trust = "cfi"},
};
static struct sw_report_stack stacks[] = {{.frames = frames, .n_frames = 2}};

static const struct sw_report_wait of_2 = {.kind = "mutex",
					   .trust = "memory",
					   .has_address = true,
					   .address_avma = 0x1000,
					   .owner_tid = 2,
					   .owner_pid = 1};
static const struct sw_report_wait of_1 = {.kind = "mutex",
					   .trust = "memory",
					   .has_address = true,
					   .address_avma = 0x2000,
					   .owner_tid = 1,
					   .owner_pid = 1};
static const struct sw_report_wait reader = {.kind = "rwlock",
					     .trust = "syscall",
					     .has_address = true,
					     .address_avma = 0x3008};
static const struct sw_report_wait writer = {.kind = "rwlock",
					     .trust = "memory",
					     .has_address = true,
					     .address_avma = 0x300c,
					     .owner_tid = 9,
					     .owner_pid = 1};
static const struct sw_report_wait word = {.kind = "futex",
					   .trust = "syscall",
					   .has_address = true,
					   .address_avma = 0x4000};
static const struct sw_report_wait shared = {.kind = "mutex",
					     .trust = "memory",
					     .has_address = true,
					     .address_avma = 0x5000,
					     .owner_tid = 70,
					     .owner_pid = 70};
static const struct sw_report_peer peers[] = {{.pid = 70, .comm = "db"}};

static struct sw_report_thread threads[] = {
	{.tid = 1,
	 .comm = "ab",
	 .state = 'S',
	 .syscall = "futex",
	 .blocked_on = &of_2,
	 .since_ms = 65001},
	{.tid = 2,
	 .comm = "ba",
	 .state = 'S',
	 .syscall = "futex",
	 .blocked_on = &of_1,
	 .since_ms = -1},
	{.tid = 3, .comm = "r", .state = 'S', .blocked_on = &reader, .since_ms = -1, .stack = -1},
	{.tid = 4, .comm = "w", .state = 'S', .blocked_on = &writer, .since_ms = 0, .stack = -1},
	{.tid = 5, .comm = "f", .state = 'S', .blocked_on = &word, .since_ms = -1, .stack = -1},
	{.tid = 6, .comm = "s", .state = 'S', .blocked_on = &shared, .since_ms = -1, .stack = -1},
};

static bool as_json_asked;

static char *lock(uint64_t address_avma, int *ret_code)
{
	static const pid_t cycle[] = {1, 2};
	static struct sw_report_deadlock deadlock = {.tids = cycle, .n = 2};
	struct sw_report r = {.threads = threads,
			      .n_threads = SW_ARRAY_SIZE(threads),
			      .stacks = stacks,
			      .n_stacks = 1,
			      .deadlocks = &deadlock,
			      .n_deadlocks = 1,
			      .peers = (struct sw_report_peer *) peers,
			      .n_peers = 1};
	struct sw_text_options options = {0};
	struct sw_error err = {0};
	char *text = NULL;
	size_t size = 0;
	r.process.pid = 1;
	*ret_code = as_json_asked ? sw_report_lock_json(&r, address_avma, &text, &size, &err)
				  : sw_report_lock(&r, address_avma, &options, &text, &size, &err);
	return *ret_code == 0 ? text : strdup(err.message);
}

static void assert_lock(uint64_t address_avma, int code, const char *wanted)
{
	int got_code;
	sw_cleanup(sw_free_p) char *got = lock(address_avma, &got_code);
	assert_string_equal(got, wanted);
	assert_int_equal(got_code, code);
}

TEST(in_a_deadlock)
{
	assert_lock(
		0x1000, 0,
		"lock      0x1000, mutex\n"
		"decided   by the function that its threads wait in; who holds it stands in its "
		"memory\n"
		"DEADLOCK  ab (1) → ba (2) → ab (1)\n"
		"held by   ba (2), waiting for a mutex, which ab (1) has\n"
		"      lock_wait < transfer\n"
		"waiting   1 thread\n"
		"    ab (1), for 65 s\n"
		"      lock_wait < transfer\n");
}

/* By the lock that the words are in: who says the owner says it for all. By a word: only its own. */
TEST(words_of_one)
{
	assert_lock(
		0x3000, 0,
		"lock      0x3000, rwlock\n"
		"decided   by the function that its threads wait in; who holds it stands in its "
		"memory\n"
		"held by   thread 9, which is not there any more\n"
		"waiting   2 threads\n"
		"    r (3), at byte 8 of it\n"
		"    w (4), for 0 ms, at byte 12 of it\n");
	assert_lock(
		0x3008, 0,
		"lock      0x3008, rwlock\n"
		"decided   by the function that its threads wait in; who holds it is not in its "
		"memory\n"
		"held by   no thread, or it is not known\n"
		"waiting   1 thread\n"
		"    r (3)\n");
}

/* A runtime's object says who holds it; who waits to be notified has given it back. */
TEST(of_runtime)
{
	static const struct sw_report_wait enter = {.kind = "java_monitor",
						    .has_address = true,
						    .address_avma = 0x6000,
						    .fd = -1,
						    .target = "com.shop.Stock",
						    .owner_tid = 3,
						    .trust = "runtime"},
					   notified = {.kind = "java_wait",
						       .has_address = true,
						       .address_avma = 0x6000,
						       .fd = -1,
						       .target = "com.shop.Stock",
						       .trust = "runtime"};
	struct sw_report_thread all[] = {
		{.tid = 1,
		 .comm = "n",
		 .state = 'S',
		 .blocked_on = &notified,
		 .since_ms = -1,
		 .stack = -1},
		{.tid = 2,
		 .comm = "e",
		 .state = 'S',
		 .blocked_on = &enter,
		 .since_ms = -1,
		 .stack = -1},
		{.tid = 3, .comm = "o", .state = 'R', .since_ms = -1, .stack = -1},
	};
	struct sw_report r = {.threads = all, .n_threads = SW_ARRAY_SIZE(all)};
	struct sw_text_options options = {0};
	char *text;
	size_t size;
	r.process.pid = 1;
	assert_int_equal(sw_report_lock(&r, 0x6000, &options, &text, &size, NULL), 0);
	assert_string_equal(
		text, "lock      0x6000, java_monitor com.shop.Stock\n"
		      "decided   by the structures of the runtime, which say who holds it\n"
		      "          (the address is of this dump: the runtime may move the object)\n"
		      "held by   o (3), running\n"
		      "waiting   2 threads\n"
		      "    n (1), to be notified\n"
		      "    e (2)\n");
	free(text);
}

TEST(of_nobody)
{
	assert_lock(0x4000, 0,
		    "lock      0x4000, futex\n"
		    "decided   a word that threads wait at with futex(2), in no function that is "
		    "known: what it belongs to, and who holds it, cannot be told\n"
		    "held by   no thread, or it is not known\n"
		    "waiting   1 thread\n"
		    "    f (5)\n");
	assert_lock(
		0x5000, 0,
		"lock      0x5000, mutex\n"
		"decided   by the function that its threads wait in; who holds it stands in its "
		"memory\n"
		"held by   db (70), another process\n"
		"waiting   1 thread\n"
		"    s (6)\n");
}

/* A mutex has 40 bytes, a word of unknown use only itself. */
/* The same in JSON: here the members that are no thread's. */
TEST(as_json)
{
	static const char begin[] =
		"{\"schema\":\"snapwalk.explain/"
		"1\",\"address\":\"0x1000\",\"lock\":{\"kind\":\"mutex\","
		"\"decided\":\"by the function that its threads wait in; who holds it stands in "
		"its memory\","
		"\"owner_tid\":2,\"owner_pid\":1,\"owner\":{\"tid\":2,\"comm\":\"ba\"";
	static const char other[] =
		"\"owner_tid\":70,\"owner_pid\":70,\"owner\":null,\"waiters\":[{\"tid\":6";
	static const char none[] =
		"\"owner_tid\":null,\"owner_pid\":null,\"owner\":null,\"waiters\":[{\"tid\":5";
	static const char both[] = "\"functions\":[]},{\"tid\":4";
	static const struct {
		uint64_t address_avma;
		const char *words;
	} cases[] = {{0x1000, begin},
		     {0x1000, "\"functions\":[\"lock_wait\",\"transfer\"]},\"deadlock\":"},
		     {0x5000, other},
		     {0x4000, none},
		     {0x3000, both}};
	as_json_asked = true;
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		int code;
		sw_cleanup(sw_free_p) char *got = lock(cases[i].address_avma, &code);
		assert_int_equal(code, 0);
		if (strstr(got, cases[i].words) == NULL)
			fail_msg("%s: without %s", got, cases[i].words);
		assert_string_equal(got + strlen(got) - 4, "]}}\n");
	}
	int code;
	sw_cleanup(sw_free_p) char *got = lock(0x9000, &code);
	assert_int_equal(code, -SW_E_NOT_FOUND);
	as_json_asked = false;
}

TEST(none)
{
	static const char others[] = "; threads wait for mutex 0x1000, mutex 0x2000, rwlock "
				     "0x3008, rwlock 0x300c, futex "
				     "0x4000, …";
	static const uint64_t addresses[] = {0x1001, 0xfd8, 0x3fff, 0x3010, 0, UINT64_MAX};
	for (size_t i = 0; i < SW_ARRAY_SIZE(addresses); i++) {
		int code;
		sw_cleanup(sw_free_p) char *got = lock(addresses[i], &code);
		assert_int_equal(code, -SW_E_NOT_FOUND);
		assert_non_null(strstr(got, others)); /* not all fit */
	}
	int code;
	sw_cleanup(sw_free_p) char *got = lock(0xfd9, &code);
	assert_int_equal(code, 0);
	assert_non_null(strstr(got, "ab (1), for 65 s, at byte 39 of it\n"));
}
