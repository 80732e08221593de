/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/call.h"
#include "daemon/stream.h"
#include "cleanup.h"
#include "test.h"

static int take(struct sw_stream *s, const char *text, struct sw_error *err)
{
	return sw_stream_take(s, text, strlen(text), err);
}

TEST(test_parts)
{
	struct sw_stream s = {0};
	struct sw_error err = {0};
	static const char *const parts[] = {
		"{\"state\":\"queued\"}",
		"{\"state\":\"resumed\"}",
		"{\"head\":{\"schema\":\"snapwalk.dump/1\",\"id\":\"a/b\"}}",
		"{\"modules\":[{\"path\":\"/m\"}]}",
		"{\"stacks\":[{\"id\":\"1\"},{\"id\":\"2\"}]}",
		"{\"stacks\":[{\"id\":\"3\"}]}",
		"{\"threads\":[{\"tid\":18446744073709551615}]}",
		"{\"threads\":[]}",
		"{\"warnings\":[]}",
		"{\"summary\":{\"stored\":true},\"coalesced\":true}",
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(parts); i++)
		assert_int_equal(take(&s, parts[i], &err), 0);
	assert_true(s.coalesced);
	assert_int_equal(json_object_get_boolean(json_object_object_get(s.summary, "stored")), 1);
	sw_cleanup(sw_free_p) char *text = NULL;
	size_t size;
	assert_int_equal(sw_stream_finish(&s, &text, &size, &err), 0);
	assert_string_equal(text, "{\"schema\":\"snapwalk.dump/1\",\"id\":\"a/b\","
				  "\"threads\":[{\"tid\":18446744073709551615}],"
				  "\"stacks\":[{\"id\":\"1\"},{\"id\":\"2\"},{\"id\":\"3\"}],"
				  "\"modules\":[{\"path\":\"/m\"}],\"warnings\":[]}\n");
	assert_int_equal(size, strlen(text));
	sw_stream_deinit(&s);
}

TEST(test_whole)
{
	struct sw_stream s = {0};
	struct sw_error err = {0};
	sw_cleanup(sw_free_p) char *text = NULL;
	size_t size;
	assert_int_equal(take(&s, "{\"dump\":{\"id\":\"x\"}}", &err), 0);
	assert_int_equal(sw_stream_finish(&s, &text, &size, &err), 0);
	assert_string_equal(text, "{\"id\":\"x\"}");
	assert_int_equal(size, 10);
	sw_stream_deinit(&s);
}

/* A stream that ends early must not look like a whole dump. */
TEST(test_missing_parts)
{
	struct sw_stream s = {0};
	struct sw_error err = {0};
	char *text = NULL;
	size_t size;
	assert_int_equal(sw_stream_finish(&s, &text, &size, &err), -SW_E_FORMAT);
	assert_int_equal(take(&s, "{\"head\":{\"id\":\"x\"}}", &err), 0);
	assert_int_equal(sw_stream_finish(&s, &text, &size, &err), -SW_E_FORMAT);
	assert_string_equal(err.message, "the daemon sent only a part of the dump");
	sw_stream_deinit(&s);
	assert_int_equal(take(&s, "{\"summary\":{}}", &err), 0);
	assert_int_equal(sw_stream_finish(&s, &text, &size, &err), -SW_E_FORMAT);
	assert_null(text);
	sw_stream_deinit(&s);
}

TEST(test_malformed)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"{\"dump\":[]}", "the daemon's dump is no object"},
		{"{\"head\":\"x\"}", "the daemon's head of a dump is no object"},
		{"{\"head\":{}}", "the daemon's head of a dump is no object"},
		{"{\"stacks\":{}}", "the daemon's stacks are no list"},
		{"{\"warnings\":1}", "the daemon's warnings are no list"},
		{"{\"summary\":[]}", "this is JSON, but not an object"},
		{"{\"stacks\":[1,]}", "this cannot be read as JSON, at byte 13"},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		struct sw_stream s = {0};
		struct sw_error err = {0};
		assert_int_equal(take(&s, cases[i].text, &err), -SW_E_FORMAT);
		assert_string_equal(err.message, cases[i].message);
		sw_stream_deinit(&s);
	}
}

/* White space that breaks lines, and what a terminal takes for a command, do not get into a dump's line. */
TEST(test_one_line)
{
	struct sw_stream s = {0};
	struct sw_error err = {0};
	sw_cleanup(sw_free_p) char *text = NULL;
	size_t size;
	assert_int_equal(take(&s, "{\"dump\":{\"id\":\r\n\t\"x\xc2\x9b\"},\"warnings\":null}",
			      &err),
			 0);
	assert_int_equal(sw_stream_finish(&s, &text, &size, &err), 0);
	assert_string_equal(text, "{\"id\":   \"x\\u009b\"}");
	sw_stream_deinit(&s);
}

/* A stream takes no more than the limit, whatever it is sent for. */
TEST(test_too_large)
{
	enum { PART = 8 << 20 };
	static const char *const heads[] = {"{\"stacks\":[", "{\"frames\":[0,",
					    "{\"dump\":{\"a\":["};
	static const char *const ends[] = {"]}", "]}", "]}}"};
	for (size_t k = 0; k < SW_ARRAY_SIZE(heads); k++) {
		struct sw_stream s = {0};
		struct sw_error err = {0};
		struct sw_text text = {0};
		int r = 0;
		size_t n = 0;
		sw_text_printf(&text, "%s\"", heads[k]);
		for (size_t i = 0; i < PART / 64; i++)
			sw_text_append(
				&text,
				"0123456789012345678901234567890123456789012345678901234567890123",
				64);
		sw_text_printf(&text, "\"%s", ends[k]);
		assert_false(text.failed);
		for (; r == 0 && n <= SW_STREAM_BYTES_MAX / PART; n++)
			r = sw_stream_take(&s, text.data, text.size, &err);
		if (k < 2) {
			assert_int_equal(n, SW_STREAM_BYTES_MAX / PART);
			assert_int_equal(r, -SW_E_LIMIT);
			assert_string_equal(err.message, "the dump is above 128 MiB");
		} else
			assert_int_equal(r, 0); /* each takes the place of the one before */
		sw_text_deinit(&text);
		sw_stream_deinit(&s);
	}
}
