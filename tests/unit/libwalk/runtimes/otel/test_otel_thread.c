/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records of threads, by bytes that were written down from OTEP 4947. */
#include "runtimes/otel/thread.h"
#include "snapshot/snapshot.h"
#include "test.h"

#define TRACE "\x4b\xf9\x2f\x35\x77\xb3\x4d\xa6\xa3\xce\x92\x9d\x0e\x0e\x47\x36"
#define SPAN  "\x00\xf0\x67\xaa\x0b\xa9\x02\xb7"
#define NONE  "\0\0\0\0\0\0\0\0"

static const struct sw_otel_process process = {.keys = {"route", NULL, "user"}, .n_keys = 3};
static struct sw_arena arena;
static bool cut;

#define PARSE(text, ret)                                                                     \
	(cut = false,                                                                        \
	 sw_otel_record_parse((struct sw_bytes){(const uint8_t *) (text), sizeof(text) - 1}, \
			      &process, &arena, ret, &cut))

TEST(test_record)
{
	struct sw_trace t;
	/* "route" twice, a key without a name, one that is not in the map, a value that is longer than what is left */
	assert_true(PARSE(TRACE SPAN "\1\1\x17\0"
				     "\0\2no"
				     "\2\1u"
				     "\1\1x"
				     "\3\1y"
				     "\0\3/ab"
				     "\2\4zzz",
			  &t));
	assert_true(t.has_ids);
	assert_memory_equal(t.trace_id, TRACE, 16);
	assert_memory_equal(t.span_id, SPAN, 8);
	assert_int_equal(t.flags, 1);
	assert_int_equal(t.n_attributes, 2);
	assert_string_equal(t.attributes[0].key, "route");
	assert_string_equal(t.attributes[0].value, "/ab");
	assert_string_equal(t.attributes[1].key, "user");
	assert_string_equal(t.attributes[1].value, "u");
	assert_false(cut);
	sw_arena_deinit(&arena);
}

TEST(test_not_valid)
{
	struct sw_trace t;
	assert_false(PARSE(TRACE SPAN "\0\1\0\0", &t));
	assert_false(PARSE(TRACE SPAN "\2\1\0\0", &t)); /* reserved */
	assert_false(PARSE(TRACE SPAN "\xff\1\0\0", &t));
	assert_false(PARSE(NONE NONE NONE "\1\0\0\0", &t)); /* says nothing */
	assert_false(PARSE(TRACE NONE "\1\1\0\0", &t));     /* one id without the other */
	assert_false(PARSE(NONE NONE SPAN "\1\1\0\0", &t));
	assert_false(PARSE(TRACE SPAN "\1\1\0", &t)); /* a byte is missing */
	assert_false(PARSE("", &t));
}

TEST(test_attributes_alone)
{
	struct sw_trace t;
	assert_true(PARSE(NONE NONE NONE "\1\0\3\0\2\1u", &t));
	assert_false(t.has_ids);
	assert_int_equal(t.n_attributes, 1);
	/* A NUL in a value; the value of a later one counts. */
	assert_true(PARSE(TRACE SPAN "\1\0\x07\0\2\1\0\2\2\0u", &t));
	assert_int_equal(t.n_attributes, 0);
	sw_arena_deinit(&arena);
}

/* More is said to be there than was copied. */
TEST(test_cut)
{
	struct sw_trace t;
	assert_true(PARSE(TRACE SPAN "\1\0\xff\xff\2\1u\0\xff"
				     "abc",
			  &t));
	assert_true(cut);
	assert_int_equal(t.n_attributes, 1);
	sw_arena_deinit(&arena);
}

/* A process may map files that take long to search: that is given up, and said. */
TEST(test_search_ends)
{
	struct sw_place place = {0};
	struct sw_snapshot_priv priv = {0};
	struct sw_snapshot snap = {.places = &place, .n_places = 1, .priv = &priv};
	struct sw_capture capture = {.snap = &snap};
	const struct sw_budget spent = sw_budget_begin(-1, 1000000000);
	sw_otel_threads_search(&capture, &spent);
	assert_int_equal(priv.n_limits, 1);
	assert_non_null(strstr(priv.limits[0], "took too long"));
}
