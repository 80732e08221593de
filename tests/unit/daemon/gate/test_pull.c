/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gate/pull.h"
#include "cleanup.h"
#include "test.h"

static void expect(enum sw_gate_pull pull, struct sw_gate_query query, const char *parameters,
		   int64_t wait_ms)
{
	struct sw_gate_wish wish = {0};
	struct sw_error err = {0};
	assert_int_equal(sw_gate_wish_parse(pull, &query, &wish, &err), 0);
	assert_string_equal(json_object_to_json_string_ext(wish.parameters, JSON_C_TO_STRING_PLAIN),
			    parameters);
	assert_int_equal(wish.wait_ms, wait_ms);
	json_object_put(wish.parameters);
}

TEST(wishes)
{
	expect(SW_GATE_PULL_PROFILE, (struct sw_gate_query){.target = "web"},
	       "{\"target\":{\"pull\":\"web\"},\"duration_ms\":30000,\"mode\":\"cpu\"}", 40000);
	expect(SW_GATE_PULL_PROFILE,
	       (struct sw_gate_query){.target = "a\"b",
				      .pid = "12",
				      .seconds = "3600",
				      .rate = "100",
				      .mode = "off"},
	       "{\"target\":{\"pull\":\"a\\\"b\",\"pid\":12},\"duration_ms\":3600000,"
	       "\"mode\":\"off\",\"rate_hz\":100}",
	       3610000);
	/* Parameters of profiles are ignored for stacks. */
	expect(SW_GATE_PULL_STACKS,
	       (struct sw_gate_query){.target = "web", .seconds = "x", .debug = "2"},
	       "{\"target\":{\"pull\":\"web\"}}", 10000);
}

TEST(mistakes)
{
	static const struct {
		struct sw_gate_query query;
		const char *said;
	} cases[] = {
		{{0}, "target is missing: the name of a section [pull NAME] of the rules"},
		{{.target = ""},
		 "target is missing: the name of a section [pull NAME] of the rules"},
		{{.target = "12345678901234567890123456789012345678901234567890123456789012345"},
		 "target has more than 64 bytes: no section has such a name"},
		{{.target = "w", .seconds = ""}, "seconds is not a number from 1 to 3600"},
		{{.target = "w", .seconds = "0"}, "seconds is not a number from 1 to 3600"},
		{{.target = "w", .seconds = "-1"}, "seconds is not a number from 1 to 3600"},
		{{.target = "w", .seconds = "3601"}, "seconds is not a number from 1 to 3600"},
		{{.target = "w", .seconds = "4294967297"},
		 "seconds is not a number from 1 to 3600"},
		{{.target = "w", .rate = "101"}, "rate is not a number from 1 to 100"},
		{{.target = "w", .pid = "0"}, "pid is not a number from 1 to 2147483647"},
		{{.target = "w", .debug = "3"}, "debug is not a number from 0 to 2"},
		{{.target = "w", .mode = "all"}, "mode is not cpu, wall or off"},
		{{.target = "w", .format = "text"}, "format is not json"},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		struct sw_gate_wish wish;
		struct sw_error err = {0};
		assert_int_equal(sw_gate_wish_parse(SW_GATE_PULL_PROFILE, &cases[i].query, &wish,
						    &err),
				 -SW_E_INVALID);
		assert_string_equal(err.message, cases[i].said);
	}
}
