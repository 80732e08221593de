/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rpc/params.h"
#include "test.h"

struct values {
	int64_t number;
	bool flag;
	const char *word;
	int choice;
	struct json_object *object;
};

static const char *const choices[] = {"red", "green", NULL};
static const struct sw_param table[] = {
	{"number", SW_PARAM_INT, offsetof(struct values, number), .min = 1, .max = 10},
	{"flag", SW_PARAM_BOOL, offsetof(struct values, flag), .required = false},
	{"word", SW_PARAM_STRING, offsetof(struct values, word), true, .max = 4},
	{"choice", SW_PARAM_CHOICE, offsetof(struct values, choice), .choices = choices},
	{"object", SW_PARAM_OBJECT, offsetof(struct values, object), .required = false},
};

/* The parameter that is wrong, NULL: none. */
static const char *read_text(const char *text, struct values *ret)
{
	static char bad_name[64];
	const char *bad = NULL;
	struct json_object *object = json_tokener_parse(text);
	assert_non_null(object);
	bool ok = sw_params_read(object, table, sizeof(table) / sizeof(table[0]), ret, &bad);
	assert_int_equal(ok, bad == NULL);
	if (bad != NULL)
		(void) snprintf(bad_name, sizeof(bad_name), "%s", bad);
	json_object_put(object);
	return ok ? NULL : bad_name;
}

TEST(test_good)
{
	struct values v = {.choice = -1};
	struct json_object *object = json_tokener_parse("{\"word\":\"abcd\",\"number\":10,\"flag\":"
							"true,\"choice\":\"green\",\"object\":{}}");
	const char *bad = NULL;
	assert_true(sw_params_read(object, table, sizeof(table) / sizeof(table[0]), &v, &bad));
	assert_int_equal(v.number, 10);
	assert_true(v.flag);
	assert_string_equal(v.word, "abcd");
	assert_int_equal(v.choice, 1);
	assert_ptr_equal(v.object, json_object_object_get(object, "object"));
	json_object_put(object);

	/* Null is absent; what is absent is left alone. */
	v = (struct values){.number = 7, .choice = -1};
	assert_null(read_text("{\"word\":\"a\",\"number\":null,\"object\":null}", &v));
	assert_int_equal(v.number, 7);
	assert_int_equal(v.choice, -1);
	assert_null(v.object);
}

TEST(test_bad)
{
	static const struct {
		const char *text, *bad;
	} cases[] = {
		{"{}", "word"},
		{"{\"word\":null}", "word"},
		{"{\"word\":\"\"}", "word"},
		{"{\"word\":\"abcde\"}", "word"},
		{"{\"word\":5}", "word"},
		{"{\"word\":\"a\\u0000b\"}", "word"},
		{"{\"word\":\"a\",\"number\":0}", "number"},
		{"{\"word\":\"a\",\"number\":11}", "number"},
		{"{\"word\":\"a\",\"number\":1.0}", "number"},
		{"{\"word\":\"a\",\"number\":\"1\"}", "number"},
		{"{\"word\":\"a\",\"number\":18446744073709551615}", "number"},
		{"{\"word\":\"a\",\"number\":99999999999999999999999}", "number"},
		{"{\"word\":\"a\",\"flag\":1}", "flag"},
		{"{\"word\":\"a\",\"choice\":\"blue\"}", "choice"},
		{"{\"word\":\"a\",\"choice\":0}", "choice"},
		{"{\"word\":\"a\",\"object\":[]}", "object"},
		{"{\"word\":\"a\",\"odd\":1}", "odd"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct values v = {0};
		const char *bad = read_text(cases[i].text, &v);
		if (bad == NULL)
			fail_msg("taken: %s", cases[i].text);
		assert_string_equal(bad, cases[i].bad);
	}
}
