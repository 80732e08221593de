/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report/json/elements.h"
#include "sample_report.h"
#include "cleanup.h"
#include "json_object.h"
#include "test.h"

static const char wanted[] =
	"{\"schema\":\"snapwalk.dump/1\",\"id\":\"20261120T103550.084579-4242-0badcafe\",\"seq\":3,"
	"\"time\":\"2026-11-20T10:35:50.084579Z\",\"uptime_ms\":81234,\"reason\":null,"
	"\"complete\":false,"
	"\"host\":{\"name\":\"web1\",\"kernel\":\"6.1.0\",\"machine\":\"x86_64\"},"
	"\"process\":{\"pid\":4242,\"starttime\":998877,\"ppid\":1,\"uid\":1000,"
	"\"comm\":\"server\",\"exe\":\"/usr/bin/server\","
	"\"cgroup\":\"/system.slice/x.service\",\"unit\":\"x.service\",\"container\":null,"
	"\"elf_class\":64,\"runtimes\":["
	"{\"name\":\"clr\",\"version\":\"10.0.0\",\"where\":\"/opt/dotnet/libcoreclr.so\"},"
	"{\"name\":\"wine\",\"version\":null,\"where\":null}],"
	"\"registries\":["
	"{\"name\":\"gdb-jit\",\"where\":\"/lib/libLLVM-15.so.1\",\"entries\":1},"
	"{\"name\":\"perf-map\",\"where\":null,\"entries\":9223372036854775807}]},"
	"\"timings\":{\"stopped_us\":850,\"n_stopped\":0,\"stopped_why\":null,\"longest_thread_"
	"stop_us\":840,\"attach_us\":300,"
	"\"copy_us\":90,\"unwind_us\":900,\"symbolize_us\":2100,\"total_us\":5200,"
	"\"interrupted_calls\":1},"
	"\"threads\":["
	"{\"tid\":4242,\"comm\":\"ser\\u001b[31mver\",\"state\":\"R\",\"captured\":true,\"captured_"
	"by\":null,"
	"\"wchan\":null,\"syscall\":null,\"cpu_ns\":1500000000,\"since_ms\":0,\"stack\":1,"
	"\"managed\":null,\"stop_us\":850},"
	"{\"tid\":4243,\"comm\":\"worker-1\",\"state\":\"S\",\"captured\":true,\"captured_by\":"
	"null,"
	"\"wchan\":\"futex_wait_queue\",\"syscall\":\"futex\",\"cpu_ns\":20000000,\"since_ms\":0,"
	"\"stack\":0,"
	"\"managed\":{\"runtime\":\"clr\",\"id\":7,\"name\":\"Order\\u001bqueue\","
	"\"mode\":\"preemptive\",\"role\":null},\"stop_us\":800},"
	"{\"tid\":4244,\"comm\":\"worker-12\",\"state\":\"S\",\"captured\":true,\"captured_by\":"
	"null,"
	"\"wchan\":\"futex_wait_queue\",\"syscall\":\"futex\",\"cpu_ns\":30000000,\"since_ms\":0,"
	"\"stack\":0,"
	"\"managed\":{\"runtime\":\"clr\",\"id\":null,\"name\":\"worker-12\",\"mode\":null,"
	"\"role\":\"finalizer\"},\"stop_us\":700,\"interrupted\":true},"
	"{\"tid\":4250,\"comm\":\"bad\xef\xbf\xbd;name\",\"state\":\"D\",\"captured\":false,"
	"\"captured_by\":null,"
	"\"wchan\":\"folio_wait_bit\",\"syscall\":null,\"cpu_ns\":null,\"since_ms\":0,\"stack\":"
	"null,"
	"\"managed\":null,"
	"\"reason\":\"stop_timeout\",\"reason_text\":\"it did not stop in time\"}],"
	"\"stacks\":["
	"{\"id\":\"00f3c2a77b1d04e5\",\"threads\":[4243,4244],\"end\":\"complete\",\"why\":null,"
	"\"frames\":["
	"{\"pc\":\"0x7f0000083117\",\"module\":1,\"offset\":\"0x83117\","
	"\"function\":\"__futex_abstimed_wait_common\",\"function_offset\":199,"
	"\"file\":\"./nptl/futex-internal.c\",\"line\":57,\"line_offset\":12,"
	"\"kind\":\"native\",\"by\":\"context\",\"trust\":\"context\",\"inlined\":false},"
	"{\"pc\":\"0x401234\",\"module\":0,\"offset\":\"0x1234\","
	"\"function\":\"Queue<int>::pop(int&)\",\"function_offset\":20,"
	"\"file\":\"/src/queue.h\",\"line\":30,\"line_offset\":0,"
	"\"kind\":\"native\",\"by\":\"elf-cfi\",\"trust\":\"cfi\",\"inlined\":true},"
	"{\"pc\":\"0x401234\",\"module\":0,\"offset\":\"0x1234\","
	"\"function\":\"worker(void*)\",\"function_offset\":20,"
	"\"file\":\"/src/main.cc\",\"line\":99,\"line_offset\":4,"
	"\"kind\":\"native\",\"by\":\"elf-cfi\",\"trust\":\"cfi\",\"inlined\":false}]},"
	"{\"id\":\"ffffffffffffffff\",\"threads\":[4242],\"end\":\"no_unwind_info\","
	"\"why\":\"code that belongs to no module\","
	"\"frames\":["
	"{\"pc\":\"0x400100\",\"module\":0,\"offset\":null,\"function\":null,"
	"\"function_offset\":null,\"file\":null,\"line\":null,\"line_offset\":null,"
	"\"kind\":\"native\",\"by\":\"context\",\"trust\":\"context\",\"inlined\":false},"
	"{\"pc\":\"0x7f0000020000\",\"module\":1,\"offset\":\"0x20000\",\"function\":null,"
	"\"function_offset\":null,\"file\":null,\"line\":null,\"line_offset\":null,"
	"\"kind\":\"native\",\"by\":\"scan\",\"trust\":\"scan\",\"inlined\":false,"
	"\"signal\":true,\"live_read\":true,\"may_miss\":true,\"after_guess\":true,\"internal\":"
	"true},"
	"{\"pc\":\"0xdead0000\",\"module\":null,\"offset\":null,\"function\":null,"
	"\"function_offset\":null,\"file\":null,\"line\":null,\"line_offset\":null,"
	"\"kind\":\"unknown\",\"by\":\"frame-pointer\",\"trust\":\"frame_pointer\","
	"\"inlined\":false}]}],"
	"\"modules\":["
	"{\"path\":\"/usr/bin/server\",\"build_id\":\"ab12\",\"start\":\"0x400000\","
	"\"end\":\"0x500000\",\"format\":\"elf\",\"symbols\":\"dwarf\"},"
	"{\"path\":\"/lib/libc.so.6\",\"build_id\":null,\"start\":\"0x7f0000000000\","
	"\"end\":\"0x7f0000200000\",\"format\":\"elf\",\"symbols\":\"none\","
	"\"symbols_why\":\"it has no lines\",\"deleted\":true,"
	"\"problem\":\"it cannot be read\"}],"
	"\"warnings\":["
	"{\"code\":\"stop_timeout\",\"tid\":4250,\"message\":\"one \\\"thread\\\" is missing\"},"
	"{\"code\":\"no_unwind_info\",\"tid\":null,\"message\":\"stacks are cut\"}]}\n";

TEST(test_every_byte)
{
	char *text;
	size_t size;
	assert_int_equal(sw_report_json(&sample_report, &text, &size, NULL), 0);
	assert_string_equal(text, wanted);
	assert_int_equal(size, strlen(text));
	free(text);
}

/* Somebody else's parser takes it; how strict JSON_TOKENER_STRICT is depends on its version. */
TEST(test_strict_parser)
{
	char *text;
	size_t size;
	assert_int_equal(sw_report_json(&sample_report, &text, &size, NULL), 0);
	struct json_tokener *tokener = json_tokener_new();
	json_tokener_set_flags(tokener, JSON_TOKENER_VALIDATE_UTF8);
	struct json_object *dump = json_tokener_parse_ex(tokener, text, (int) size - 1);
	assert_int_equal(json_tokener_get_error(tokener), json_tokener_success);
	struct json_object *threads = json_object_object_get(dump, "threads");
	assert_int_equal(json_object_array_length(threads), 4);
	struct json_object *comm =
		json_object_object_get(json_object_array_get_idx(threads, 0), "comm");
	assert_string_equal(json_object_get_string(comm), "ser\033[31mver");
	json_object_put(dump);
	json_tokener_free(tokener);
	free(text);
}

/* JSON is read on terminals, too: C1 and what changes the direction of writing is escaped as C0 is. */
TEST(test_steers_nothing)
{
	struct sw_report report = sample_report;
	char *text;
	size_t size;
	report.reason = "\033\x7f\xc2\x9b\u202e\u00e9";
	assert_int_equal(sw_report_json(&report, &text, &size, NULL), 0);
	assert_non_null(strstr(text, ",\"reason\":\"\\u001b\\u007f\\u009b\\u202e\u00e9\","));
	free(text);
}

/* A frame that was written before is taken from there, but only if all of it is the same. */
TEST(test_repeated_frames)
{
	struct sw_report_frame frames[4] = {sample_waiting[0], sample_waiting[0], sample_waiting[0],
					    sample_waiting[0]};
	frames[2].trust = "scan";
	frames[3].inlined = true;
	struct sw_report_stack stack = {.threads = sample_busy_threads,
					.n_threads = 1,
					.end = "complete",
					.frames = frames,
					.n_frames = 4};
	struct sw_report report = sample_report;
	report.stacks = &stack;
	report.n_stacks = 1;
	char *text;
	size_t size;
	assert_int_equal(sw_report_json(&report, &text, &size, NULL), 0);
	struct json_object *dump = json_tokener_parse(text);
	struct json_object *got = json_object_object_get(
		json_object_array_get_idx(json_object_object_get(dump, "stacks"), 0), "frames");
	assert_int_equal(json_object_array_length(got), 4);
	static const char *const trusts[] = {"context", "context", "scan", "context"};
	for (size_t i = 0; i < 4; i++) {
		struct json_object *frame = json_object_array_get_idx(got, i);
		assert_string_equal(json_object_get_string(json_object_object_get(frame, "trust")),
				    trusts[i]);
		assert_int_equal(json_object_get_boolean(json_object_object_get(frame, "inlined")),
				 i == 3);
		assert_string_equal(json_object_get_string(json_object_object_get(frame, "pc")),
				    "0x7f0000083117");
	}
	json_object_put(dump);
	free(text);
}

/* Ends the text. */
static void check_element(struct sw_text *text, const char *expected)
{
	assert_false(text->failed);
	assert_string_equal(text->data, expected);
	assert_int_equal(text->size, strlen(expected));
	sw_text_deinit(text);
}

TEST(test_strings)
{
	struct sw_text text = {0};
	const struct sw_report_warning warnings[] = {
		{.code = "", .message = "a\"b\\c/d"},
		{.code = "\033[2J\b\f\r\n\t\x01\x1f", .message = NULL},
		{.code = "é\xff€\xf0\x9f\x90\xa7\xed\xa0\x80", .message = "cut\xe2\x82"},
	};
	sw_report_json_warning(&text, &warnings[0]);
	check_element(&text, "{\"code\":\"\",\"tid\":null,\"message\":\"a\\\"b\\\\c/d\"}");
	sw_report_json_warning(&text, &warnings[1]);
	check_element(&text, "{\"code\":\"\\u001b[2J\\b\\f\\r\\n\\t\\u0001\\u001f\",\"tid\":null,"
			     "\"message\":null}");
	sw_report_json_warning(&text, &warnings[2]);
	check_element(&text, "{\"code\":\"é\xef\xbf\xbd€🐧\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\","
			     "\"tid\":null,\"message\":\"cut\xef\xbf\xbd\"}");
}

TEST(test_numbers)
{
	struct sw_text text = {0};
	const struct sw_report_thread thread = {
		.tid = INT32_MAX, .comm = "x", .cpu_ns = INT64_MAX, .stop_us = 0, .stack = 0};
	sw_report_json_thread(&text, &thread);
	check_element(&text,
		      "{\"tid\":2147483647,\"comm\":\"x\",\"state\":\"?\",\"captured\":false,"
		      "\"captured_by\":null,"
		      "\"wchan\":null,\"syscall\":null,\"cpu_ns\":9223372036854775807,\"since_ms\":"
		      "0,\"stack\":0,"
		      "\"managed\":null,\"stop_us\":0}");
	const struct sw_report_frame frame = {.pc_avma = UINT64_MAX,
					      .module = INT32_MAX,
					      .has_offset = true,
					      .function = "f",
					      .function_offset = UINT64_MAX,
					      .line = UINT32_MAX,
					      .line_offset = INT32_MIN,
					      .kind = "k",
					      .by = "b",
					      .trust = "t"};
	sw_report_json_frame(&text, &frame);
	check_element(&text,
		      "{\"pc\":\"0xffffffffffffffff\",\"module\":2147483647,\"offset\":\"0x0\","
		      "\"function\":\"f\",\"function_offset\":9223372036854775807,\"file\":null,"
		      "\"line\":4294967295,\"line_offset\":null,\"kind\":\"k\",\"by\":\"b\","
		      "\"trust\":\"t\",\"inlined\":false}");
}

/* Numbers that only a defect makes negative are written as they are. */
TEST(test_lowest_number)
{
	struct sw_report report = sample_report;
	report.timings.total_us = INT64_MIN;
	struct sw_text text = {0};
	sw_report_json_head(&text, &report);
	assert_non_null(strstr(text.data, ",\"total_us\":-9223372036854775808,"));
	sw_text_deinit(&text);
}

TEST(test_empty_lists)
{
	static const char end[] = "\"interrupted_calls\":1},\"threads\":[],\"stacks\":[],"
				  "\"modules\":[],\"warnings\":[]}\n";
	struct sw_report report = sample_report;
	report.n_threads = report.n_stacks = report.n_modules = report.n_warnings = 0;
	char *text;
	size_t size;
	assert_int_equal(sw_report_json(&report, &text, &size, NULL), 0);
	assert_true(size > strlen(end));
	assert_string_equal(text + size - strlen(end), end);
	free(text);
}

TEST(test_no_element)
{
	struct sw_text text = {0};
	sw_json_object_append(&text, NULL);
	assert_true(text.failed);
	assert_null(text.data);
}
