/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The writers of profiles, and what reads them back. Other programs read them in runtime_profile.py. */
#include "sample_report.h"
#include "cleanup.h"
#include "profile/locations.h"
#include "profile/protobuf.h"
#include "profile/put.h"
#include "test.h"

#include <libdeflate.h>
#include "skip.h"

#ifndef __SANITIZE_ADDRESS__
#include "refuse_malloc.h"
#endif

static const struct sw_profile_info sample_info = {.mode = "wall",
						   .begin_ns = 1795170950084579123,
						   .duration_ns = 1000000000,
						   .rate_hz = 10,
						   .n_samples = 10,
						   .n_wanted = 12,
						   .n_late = 1,
						   .n_lost = 2};

/* The first thread runs; ten rounds. */
static struct sw_profile *create(void)
{
	struct sw_profile *p = NULL;
	assert_int_equal(sw_profile_create(NULL, &p, NULL), 0);
	for (int i = 0; i < 10; i++)
		assert_int_equal(sw_profile_add(p, &sample_report, NULL, NULL, NULL), 0);
	sw_profile_set_info(p, &sample_info);
	return p;
}

static char *write_with(const struct sw_profile *p, enum sw_profile_format format,
			const struct sw_profile_write_options *options, size_t *ret_size)
{
	char *data = NULL;
	assert_int_equal(sw_profile_write(p, format, options, &data, ret_size, NULL), 0);
	assert_int_equal(data[*ret_size], '\0');
	return data;
}

static char *write_as(const struct sw_profile *p, enum sw_profile_format format)
{
	size_t size;
	return write_with(p, format, NULL, &size);
}

TEST(test_folded)
{
	struct sw_profile *p = create();
	char *text = write_as(p, SW_PROFILE_FOLDED);
	assert_string_equal(
		text,
		"ser\\x1b[31mver;[cut: no_unwind_info];[unknown] [guess];"
		"libc.so.6+0x20000 [guess];[unknown] 10\n"
		"Order\\x1bqueue;worker(void*);Queue<int>::pop(int&);__futex_abstimed_wait_common "
		"10\n"
		"worker-12;worker(void*);Queue<int>::pop(int&);__futex_abstimed_wait_common 10\n"
		"bad\xef\xbf\xbd:name;[no stack: stop_timeout] 10\n");
	free(text);
	sw_profile_destroy(p);
}

/* The reason that the daemon has put there is read, said, and written again. */
TEST(test_ended_early)
{
	struct sw_profile *p = create(), *read = NULL;
	assert_string_equal(sw_profile_ended_early(p), "");
	char *text = write_as(p, SW_PROFILE_JSON), *early = NULL;
	assert_true(asprintf(&early, "{\"ended_early\":\"process 42 exited\",%s", text + 1) > 0);
	assert_int_equal(sw_profile_parse(early, strlen(early), &read, NULL), 0);
	assert_string_equal(sw_profile_ended_early(read), "process 42 exited");
	char *shown = write_as(read, SW_PROFILE_TEXT), *again = write_as(read, SW_PROFILE_JSON);
	assert_non_null(strstr(shown, "\nended early: process 42 exited\n"));
	assert_non_null(strstr(again, ",\"ended_early\":\"process 42 exited\""));
	free(text);
	free(early);
	free(shown);
	free(again);
	sw_profile_destroy(p);
	sw_profile_destroy(read);
}

/* Marks of a stack come after its process. */
TEST(test_by_process)
{
	struct sw_profile *p = NULL;
	assert_int_equal(sw_profile_create(NULL, &p, NULL), 0);
	sw_profile_set_by_process(p);
	assert_int_equal(sw_profile_add(p, &sample_report, NULL, NULL, NULL), 0);
	char *text = write_as(p, SW_PROFILE_FOLDED);
	size_t n = 0;
	for (const char *line = text; *line != '\0'; line = strchr(line, '\n') + 1, n++)
		assert_memory_equal(strchr(line, ';'), ";server (4242);", 15);
	assert_int_equal(n, 4);
	assert_non_null(strstr(text, ";server (4242);[cut: no_unwind_info];"));
	assert_non_null(strstr(text, ";server (4242);[no stack: stop_timeout] 1"));
	free(text);
	sw_profile_destroy(p);
}

TEST(test_text)
{
	struct sw_profile *p = create();
	char *text = write_as(p, SW_PROFILE_TEXT);
	assert_string_equal(
		text,
		"server, pid 4242: 10 samples of 12 in 1.0 s, 4 threads, 1 late, 2 lost\n"
		"on CPU 1.0 · blocked 2.0 · idle 1.0 threads on average\n"
		"±: by about how many percentage points a share may be off\n"
		"\n"
		"on CPU\n"
		"100.0 % ±28  ser\\x1b[31mver\n"
		"100.0 % ±28    [cut: no_unwind_info] > … 1 frame > libc.so.6+0x20000 [guess] > "
		"[unknown]\n"
		"\n"
		"blocked, threads on average\n"
		"    1.0  Order\\x1bqueue   futex  in Queue<int>::pop(int&)\n"
		"    1.0  bad\xef\xbf\xbd;name      folio_wait_bit  in [no stack: stop_timeout]\n"
		"\n"
		"idle, threads on average\n"
		"    1.0  the runtime\n"
		"\n"
		"functions, of the time on a CPU\n"
		"   self   total ±    function\n"
		" 100.0%  100.0% ±28  [unknown]\n"
		"\n"
		"the same, by what they call as well\n"
		"   self   total ±    function\n"
		" 100.0%  100.0% ±28  [unknown]\n"
		"   0.0%  100.0% ±28  [cut: no_unwind_info]\n"
		"   0.0%  100.0% ±28  [unknown] [guess]\n"
		"   0.0%  100.0% ±28  libc.so.6+0x20000 [guess]\n");
	free(text);
	/* A thread that is blocked for a hundredth of the time is not worth a row of 0.0. */
	struct sw_profile_info long_info = sample_info;
	long_info.n_samples = long_info.n_wanted = 1000;
	sw_profile_set_info(p, &long_info);
	text = write_as(p, SW_PROFILE_TEXT);
	assert_null(strstr(text, "    0.0  "));
	assert_null(strstr(text, "blocked, threads"));
	free(text);
	size_t size;
	const struct sw_profile_write_options all = {.all = true};
	text = write_with(p, SW_PROFILE_TEXT, &all, &size);
	assert_non_null(strstr(text, "    0.0  Order\\x1bqueue"));
	free(text);
	sw_profile_destroy(p);
}

/* Without a stack there is a line, and no table without rows. */
TEST(test_text_of_nothing)
{
	struct sw_profile *p = NULL;
	assert_int_equal(sw_profile_create(NULL, &p, NULL), 0);
	sw_profile_set_info(p, &sample_info);
	char *text = write_as(p, SW_PROFILE_TEXT);
	assert_string_equal(text,
			    "no process: 10 samples of 12 in 1.0 s, 0 threads, 1 late, 2 lost\n");
	free(text);
	text = write_as(p, SW_PROFILE_SVG);
	assert_non_null(strstr(text, ">no process: nothing was sampled"));
	free(text);
	sw_profile_destroy(p);
}

/* The thread that waits longer comes first. */
TEST(test_text_order)
{
	struct sw_profile *p = create();
	struct sw_report more = sample_report;
	more.threads = &sample_threads[3];
	more.n_threads = 1;
	assert_int_equal(sw_profile_add(p, &more, NULL, NULL, NULL), 0);
	char *text = write_as(p, SW_PROFILE_TEXT);
	const char *first = strstr(text, "bad\xef\xbf\xbd;name"),
		   *second = strstr(text, "Order\\x1bqueue");
	assert_true(first != NULL && second != NULL && first < second);
	free(text);
	sw_profile_destroy(p);
}

/* Read back it is the same profile. */
TEST(test_round_trip)
{
	struct sw_profile *p = create(), *read = NULL;
	char *text = write_as(p, SW_PROFILE_JSON);
	assert_int_equal(sw_profile_parse(text, strlen(text), &read, NULL), 0);
	for (enum sw_profile_format f = 0; f < SW_PROFILE_FORMATS; f++) {
		size_t size, size_read;
		char *first = write_with(p, f, NULL, &size);
		char *second = write_with(read, f, NULL, &size_read);
		assert_int_equal(size, size_read);
		assert_memory_equal(first, second, size);
		free(first);
		free(second);
	}
	assert_int_equal(sw_profile_totals(read).count, 40);
	free(text);
	sw_profile_destroy(read);
	sw_profile_destroy(p);
}

static char *replaced(const char *text, const char *from, const char *to)
{
	char *at = strstr(text, from), *result;
	assert_non_null(at);
	assert_true(asprintf(&result, "%.*s%s%s", (int) (at - text), text, to, at + strlen(from)) >
		    0);
	return result;
}

static void instance_add(struct sw_profile *p, pid_t pid, const char *comm, uint64_t starttime)
{
	struct sw_report_thread thread = {.comm = "worker",
					  .state = 'R',
					  .reason = "exited",
					  .stack = -1};
	const struct sw_report report = {.process.pid = pid,
					 .process.comm = comm,
					 .process.starttime = starttime,
					 .threads = &thread,
					 .n_threads = 1};
	assert_int_equal(sw_profile_add(p, &report, NULL, NULL, NULL), 0);
}

/* Processes that had ended have no number, and a number may be used again: each keeps its name and its samples. */
TEST(test_processes_of_one_number)
{
	struct sw_profile *p = NULL, *read = NULL;
	assert_int_equal(sw_profile_create(NULL, &p, NULL), 0);
	instance_add(p, 0, "first", 0);
	instance_add(p, 0, "second", 0);
	instance_add(p, 0, "first", 0);
	instance_add(p, 42, "third", 7);
	instance_add(p, 42, "fourth", 8);
	instance_add(p, 42, "renamed", 8); /* by execve() */
	char *text = write_as(p, SW_PROFILE_JSON);
	assert_non_null(strstr(
		text,
		"\"processes\":[{\"pid\":0,\"comm\":\"first\",\"exe\":null,\"unit\":null,"
		"\"container\":null},"
		"{\"pid\":0,\"comm\":\"second\",\"exe\":null,\"unit\":null,\"container\":null},"
		"{\"pid\":42,\"comm\":\"third\",\"exe\":null,\"unit\":null,\"container\":null},"
		"{\"pid\":42,\"comm\":\"renamed\",\"exe\":null,\"unit\":null,\"container\":null}"
		"]"));
	assert_non_null(
		strstr(text, "\"threads\":[{\"pid\":0,\"tid\":0,\"process\":0,\"name\":\"worker\"},"
			     "{\"pid\":0,\"tid\":0,\"process\":1,\"name\":\"worker\"},"
			     "{\"pid\":42,\"tid\":0,\"name\":\"worker\"},"
			     "{\"pid\":42,\"tid\":0,\"process\":3,\"name\":\"worker\"}]"));
	assert_int_equal(sw_profile_parse(text, strlen(text), &read, NULL), 0);
	char *again = write_as(read, SW_PROFILE_JSON);
	assert_string_equal(again, text);
	const uint64_t counts[] = {2, 1, 1, 2};
	assert_int_equal(sw_profile_totals(read).n_rows, 4);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(sw_profile_row_at(read, i)->count, counts[i]);
	char *wrong = replaced(text, "\"process\":3", "\"process\":0");
	struct sw_profile *refused = NULL;
	assert_true(sw_profile_parse(wrong, strlen(wrong), &refused, NULL) < 0);
	free(wrong);
	free(text);
	free(again);
	sw_profile_destroy(p);
	sw_profile_destroy(read);
}

/* Each is one change to a profile that is right. */
TEST(test_refused)
{
	static const struct {
		const char *from, *to, *message;
	} cases[] = {
		{"snapwalk.profile/1", "snapwalk.profile/2",
		 "this is not a profile: 'schema' of a profile is missing or wrong"},
		{"\"mode\":\"wall\"", "\"mode\":\"wal\"",
		 "this is not a profile: 'mode' of a profile is missing or wrong"},
		{"\"rate_hz\":10", "\"rate_hz\":-1",
		 "this is not a profile: 'rate_hz' of a profile is missing or wrong"},
		{"[null,0]", "[0,0]",
		 "this is not a profile: 'parent' of a nodes is missing or wrong"},
		{"[null,0]", "[null,1000]",
		 "this is not a profile: 'frame' of a nodes is missing or wrong"},
		{"[null,0]", "[null]",
		 "this is not a profile: 'parent' of a nodes is missing or wrong"},
		{"[null,0]", "[null,null]",
		 "this is not a profile: 'parent' of a nodes is missing or wrong"},
		{"\"thread\":0", "\"thread\":4",
		 "this is not a profile: 'thread' of a samples is missing or wrong"},
		{"\"thread\":0", "\"thread\":null",
		 "this is not a profile: 'thread' of a samples is missing or wrong"},
		{"\"state\":\"on_cpu\"", "\"state\":\"oncpu\"",
		 "this is not a profile: 'state' of a samples is missing or wrong"},
		{"\"start\":\"0x", "\"start\":\"x",
		 "this is not a profile: 'start' of a modules is missing or wrong"},
		{"\"processes\":[", "\"processes\":[], \"processes\":[",
		 "this is not a profile: 'processes' of a profile is missing or wrong"},
		{"\"nodes\":[", "\"nudes\":[",
		 "this is not a profile: 'nodes' of a profile is missing or wrong"},
	};
	struct sw_profile *p = create(), *read = NULL;
	char *text = write_as(p, SW_PROFILE_JSON);
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		struct sw_error err = {0};
		char *broken = replaced(text, cases[i].from, cases[i].to);
		assert_int_equal(sw_profile_parse(broken, strlen(broken), &read, &err),
				 -SW_E_FORMAT);
		assert_string_equal(err.message, cases[i].message);
		free(broken);
	}
	for (size_t size = 0; size + 2 < strlen(text); size += 7)
		assert_int_equal(sw_profile_parse(text, size, &read, NULL), -SW_E_FORMAT);
	free(text);
	sw_profile_destroy(p);
}

/* A stack as deep as nobody has one would make every writer slow. */
TEST(test_too_deep)
{
	struct sw_profile *p = create(), *read = NULL;
	char *text = write_as(p, SW_PROFILE_JSON);
	struct sw_text deep = {0};
	struct sw_error err = {0};
	const char *nodes = strstr(text, "\"nodes\":["), *end = strchr(nodes, ']');
	end = strstr(end, "]]") + 1;
	sw_text_append(&deep, text, (size_t) (nodes - text));
	sw_text_printf(&deep, "\"nodes\":[[null,0]");
	for (unsigned i = 0; i < SW_PROFILE_DEPTH_MAX + 1; i++)
		sw_text_printf(&deep, ",[%u,0]", i);
	sw_text_append(&deep, end, strlen(end));
	assert_int_equal(sw_profile_parse(deep.data, deep.size, &read, &err), -SW_E_FORMAT);
	assert_string_equal(err.message,
			    "this is not a profile: 'depth' of a nodes is missing or wrong");
	sw_text_deinit(&deep);
	free(text);
	sw_profile_destroy(p);
}

/* A name that ends the script, begins a tag or a line: in no format more than a name. */
TEST(test_hostile_name)
{
	static const char name[] =
		"</script><img src=x onerror=alert(1)>\"\\\n\x1b[2J\xe2\x80\xa8&";
	struct sw_report_frame frame = sample_frame(name, 1);
	struct sw_report_stack stack = sample_stacks[0];
	struct sw_report_thread thread = sample_threads[1];
	struct sw_report report = sample_report;
	struct sw_profile *p = NULL;
	size_t zero = 0, size;
	stack.frames = &frame;
	stack.threads = &zero;
	stack.n_frames = stack.n_threads = 1;
	thread.comm = "</script>";
	report.threads = &thread;
	report.stacks = &stack;
	report.n_threads = report.n_stacks = 1;
	assert_int_equal(sw_profile_create(NULL, &p, NULL), 0);
	assert_int_equal(sw_profile_add(p, &report, NULL, NULL, NULL), 0);
	char *html = write_as(p, SW_PROFILE_HTML);
	size_t ends = 0;
	for (const char *at = html; (at = strstr(at, "</script>")) != NULL; at++)
		ends++;
	assert_int_equal(ends, 2); /* of the page itself */
	assert_null(strstr(html, "<img"));
	free(html);
	char *svg = write_as(p, SW_PROFILE_SVG);
	assert_null(strstr(svg, "<img"));
	assert_non_null(strstr(svg, "&lt;img"));
	free(svg);
	for (enum sw_profile_format f = 0; f < SW_PROFILE_FORMATS; f++) {
		char *data = write_with(p, f, NULL, &size);
		if (f != SW_PROFILE_PPROF)
			assert_null(memchr(data, '\x1b', size));
		free(data);
	}
	sw_profile_destroy(p);
}

/* Names are text in the picture, and the shares add up. */
TEST(test_svg)
{
	struct sw_profile *p = create();
	char *svg = write_as(p, SW_PROFILE_SVG);
	assert_memory_equal(svg, "<?xml", 5);
	assert_non_null(strstr(svg, "<title>all ("));
	assert_non_null(strstr(svg, "100.0 %)</title><rect x=\"10.00\""));
	assert_non_null(strstr(svg, "</svg>\n"));
	assert_null(strstr(svg, "<script"));
	size_t opened = 0, closed = 0;
	for (const char *at = svg; (at = strstr(at, "<g>")) != NULL; at++)
		opened++;
	for (const char *at = svg; (at = strstr(at, "</g>")) != NULL; at++)
		closed++;
	assert_true(opened > 2 && opened == closed);
	free(svg);
	sw_profile_destroy(p);
}

TEST(test_json_strings)
{
	struct sw_text text = {0};
	sw_put_json(&text, "a\"\\\n<b>&\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xa6");
	assert_string_equal(text.data,
			    "\"a\\u0022\\u005c\\u000a\\u003cb\\u003e\\u0026\\u2028\\u2029"
			    "\xe2\x80\xa6\"");
	sw_text_deinit(&text);
	sw_put_ms(&text, 1234567);
	assert_string_equal(text.data, "1.234");
	sw_text_deinit(&text);
	sw_put_time(&text, 1795170950084579123);
	assert_string_equal(text.data, "2026-11-20T10:35:50Z");
	sw_text_deinit(&text);
}

/* The examples of protobuf.dev/programming-guides/encoding. */
TEST(test_protobuf)
{
	struct sw_text to = {0}, message = {0};
	sw_proto_int(&to, 1, 150);
	assert_int_equal(to.size, 3);
	assert_memory_equal(to.data, "\x08\x96\x01", 3);
	sw_proto_string(&to, 2, "testing");
	assert_memory_equal(to.data + 3, "\x12\x07testing", 9);
	sw_proto_int(&to, 3, 0);
	sw_proto_string(&to, 3, "");
	assert_int_equal(to.size, 12);
	sw_proto_int(&message, 1, 150);
	sw_proto_message(&to, 3, &message);
	assert_memory_equal(to.data + 12, "\x1a\x03\x08\x96\x01", 5);
	assert_int_equal(message.size, 0);
	sw_proto_int_always(&to, 4, UINT64_MAX);
	assert_memory_equal(to.data + 17, "\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
	sw_proto_fixed64(&to, 5, 0x0102030405060708);
	assert_memory_equal(to.data + 28, "\x29\x08\x07\x06\x05\x04\x03\x02\x01", 9);
	sw_text_deinit(&to);
	sw_text_deinit(&message);
}

/* Inlined calls share the location of the function that they are in. */
TEST(test_locations)
{
	struct sw_profile *p = create();
	struct sw_profile_locations *l = malloc(sizeof(*l));
	uint32_t frames[4];
	assert_non_null(l);
	sw_profile_locations_init(l, p);
	const struct sw_profile_row *waiting = sw_profile_row_at(p, 1);
	assert_int_equal(sw_profile_locations_of(l, waiting->node), 2);
	uint32_t futex = l->stack[0], worker = l->stack[1];
	assert_int_equal(sw_profile_location_lines(l, futex, frames, 4), 1);
	assert_int_equal(sw_profile_location_lines(l, worker, frames, 4), 2);
	assert_string_equal(sw_profile_text_of(p, sw_profile_frame_at(p, frames[0])->function),
			    "Queue<int>::pop(int&)");
	assert_string_equal(sw_profile_text_of(p, sw_profile_frame_at(p, frames[1])->function),
			    "worker(void*)");
	/* The call, not the address behind it that it returns to; the innermost frame is at its pc. */
	assert_int_equal(sw_profile_location_avma(l, worker), 0x401233);
	const uint64_t at_futex = sw_profile_location_avma(l, futex);
	assert_int_equal(sw_profile_location_lines(l, futex, frames, 4), 1);
	const struct sw_profile_frame *f = sw_profile_frame_at(p, frames[0]);
	assert_int_equal(at_futex, sw_profile_module_at(p, f->module)->bias + f->address);
	assert_int_equal(sw_profile_locations_of(l, waiting->node), 2);
	assert_int_equal(l->stack[0], futex);
	assert_int_equal(l->n, 2);
	sw_profile_locations_deinit(l);
	free(l);
	sw_profile_destroy(p);
}

/* A frame that a signal has interrupted is at its pc, as the innermost one is. */
TEST(test_locations_signal)
{
	static const struct sw_profile_frame frames[] = {{.address = 0x3000},
							 {.address = 0x2000},
							 {.address = 0x1000,
							  .flags = SW_PROFILE_SIGNAL}};
	struct sw_profile *p = NULL;
	struct sw_profile_locations *l = malloc(sizeof(*l));
	uint32_t node = 0, frame = 0;
	assert_non_null(l);
	assert_int_equal(sw_profile_create(NULL, &p, NULL), 0);
	for (size_t i = 0; i < SW_ARRAY_SIZE(frames); i++) {
		assert_int_equal(sw_profile_frame_find(p, &frames[i], true, &frame), 1);
		assert_int_equal(sw_profile_node_find(p, node, frame, true, &node), 1);
	}
	sw_profile_locations_init(l, p);
	assert_int_equal(sw_profile_locations_of(l, node), 3);
	assert_int_equal(sw_profile_location_avma(l, l->stack[0]), 0x1000);
	assert_int_equal(sw_profile_location_avma(l, l->stack[1]), 0x2000);
	assert_int_equal(sw_profile_location_avma(l, l->stack[2]), 0x2fff);
	sw_profile_locations_deinit(l);
	free(l);
	sw_profile_destroy(p);
}

TEST(test_gzip)
{
	struct sw_profile *p = create();
	size_t size, unpacked = 0;
	static char to[1 << 16];
	char *data = write_with(p, SW_PROFILE_PPROF, NULL, &size);
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	assert_int_equal(libdeflate_gzip_decompress(d, data, size, to, sizeof(to), &unpacked), 0);
	assert_non_null(memmem(to, unpacked, "Queue<int>::pop(int&)", 21));
	assert_non_null(memmem(to, unpacked, "ab12", 4)); /* the build-id */
	libdeflate_free_decompressor(d);
	free(data);
	sw_profile_destroy(p);
}

/* A function that is called more, and one that is gone. */
TEST(test_difference)
{
	struct sw_profile *p = create(), *old = NULL;
	char *text = write_as(p, SW_PROFILE_JSON);
	char *before = replaced(text, "\"address\":\"0x20000\"", "\"address\":\"0x20008\"");
	assert_int_equal(sw_profile_parse(before, strlen(before), &old, NULL), 0);
	size_t size;
	char *shown = write_with(p, SW_PROFILE_TEXT, &(struct sw_profile_write_options){.old = old},
				 &size);
	assert_non_null(strstr(shown, "   self   total ±    change   function\n"));
	assert_non_null(strstr(shown, "   0.0%  100.0% ±28  +100.0   libc.so.6+0x20000 [guess]\n"));
	assert_non_null(strstr(shown, "   0.0%    0.0% ±28  -100.0   libc.so.6+0x20008 [guess]\n"));
	assert_non_null(strstr(shown, "   0.0%  100.0% ±28    +0.0   [unknown] [guess]\n"));
	free(shown);
	shown = write_with(p, SW_PROFILE_HTML, &(struct sw_profile_write_options){.old = old},
			   &size);
	assert_non_null(strstr(shown, "\"diff\":true"));
	free(shown);
	free(before);
	free(text);
	sw_profile_destroy(old);
	sw_profile_destroy(p);
}

#ifndef __SANITIZE_ADDRESS__

/* Out of memory at every allocation there is: said, never half a file. */
TEST(test_no_memory)
{
	struct sw_profile *p = create();
	for (enum sw_profile_format f = 0; f < SW_PROFILE_FORMATS; f++) {
		size_t size, whole_size, n;
		char *whole = write_with(p, f, NULL, &whole_size);
		for (n = 0; n < 100000; n++) {
			char *data = NULL;
			refuse.left = n;
			refuse.armed = true;
			int r = sw_profile_write(p, f, NULL, &data, &size, NULL);
			refuse.armed = false;
			if (r == 0) {
				assert_int_equal(size, whole_size);
				assert_memory_equal(data, whole, size);
				free(data);
				break;
			}
			assert_int_equal(r, -SW_E_NOMEM);
		}
		assert_true(n >= 3 && n < 100000);
		free(whole);
	}
	char *text = write_as(p, SW_PROFILE_JSON);
	for (size_t n = 0;; n++) {
		struct sw_profile *read = NULL;
		refuse.left = n;
		refuse.armed = true;
		int r = sw_profile_parse(text, strlen(text), &read, NULL);
		refuse.armed = false;
		sw_profile_destroy(read);
		if (r == 0)
			break;
		assert_int_equal(r, -SW_E_NOMEM);
	}
	free(text);
	for (size_t n = 0;; n++) {
		size_t size;
		text = NULL;
		refuse.left = n;
		refuse.armed = true;
		int r = sw_profile_write_kept(p, &sample_report, &text, &size, NULL);
		refuse.armed = false;
		free(text);
		if (r == 0)
			break;
		assert_int_equal(r, -SW_E_NOMEM);
	}
	sw_profile_destroy(p);
}

#else

TEST(test_no_memory)
{
	SKIP("the address sanitizer has a malloc() of its own", "a build without it");
}

#endif

/* The members that a store has of a dump come in front of those that are the same as ever. */
TEST(test_kept)
{
	static const char schema[] = "{\"schema\":\"snapwalk.profile/1\"";
	static const char first[] = ",\"id\":\"20261120T103550.084579-4242-0badcafe\","
				    "\"time\":\"2026-11-20T10:35:50.084579Z\",\"reason\":\"why\","
				    "\"complete\":true,\"process\":{\"pid\":4242,";
	struct sw_profile *p = create();
	struct sw_report head = sample_report;
	char *plain = write_as(p, SW_PROFILE_JSON), *kept = NULL;
	size_t size, n = sizeof(schema) - 1;
	head.reason = "why";
	head.complete = true;
	assert_int_equal(sw_profile_write_kept(p, &head, &kept, &size, NULL), 0);
	assert_int_equal(strlen(kept), size);
	assert_memory_equal(kept, schema, n);
	assert_memory_equal(kept + n, first, sizeof(first) - 1);
	assert_non_null(strstr(kept, "\"timings\":{\"stopped_us\":850,"));
	assert_string_equal(kept + size - (strlen(plain) - n), plain + n);
	struct sw_profile *read = NULL;
	assert_int_equal(sw_profile_parse(kept, size, &read, NULL), 0);
	char *again = write_as(read, SW_PROFILE_JSON);
	assert_string_equal(again, plain);
	free(again);
	free(kept);
	head.reason = NULL;
	assert_int_equal(sw_profile_write_kept(p, &head, &kept, &size, NULL), 0);
	assert_null(strstr(kept, "reason"));
	free(kept);
	free(plain);
	sw_profile_destroy(read);
	sw_profile_destroy(p);
}
