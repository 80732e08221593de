/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "json.h"
#include "cleanup.h"
#include "text.h"
#include "test.h"

/* ---- what is taken: the same by check, scan and tree ------------------------------------------ */

/* Exactly as large as the text, so that a byte too many is seen. */
static char *exact(const char *text, size_t size)
{
	char *copy = malloc(size > 0 ? size : 1);
	assert_non_null(copy);
	memcpy(copy, text, size);
	return copy;
}

static int check(const char *text, size_t size, unsigned depth_max)
{
	sw_cleanup(sw_free_p) char *copy = exact(text, size);
	return sw_json_check(copy, size, depth_max, NULL);
}

static int parse(const char *text, size_t size, unsigned depth_max)
{
	sw_cleanup(sw_free_p) char *copy = exact(text, size);
	struct sw_json_tree tree = {0};
	int r = sw_json_parse(&tree, copy, size, depth_max, NULL);
	sw_json_tree_deinit(&tree);
	return r;
}

/* As the only element of an array. */
static int scan(const char *text, size_t size, unsigned depth_max)
{
	sw_cleanup(sw_free_p) char *copy = malloc(size + 2);
	assert_non_null(copy);
	copy[0] = '[';
	memcpy(copy + 1, text, size);
	copy[size + 1] = ']';
	struct sw_json_scan s = sw_json_scan_begin(copy, size + 2, depth_max + 1);
	struct sw_json_part name, value;
	int r = sw_json_scan_next(&s, &name, &value, NULL);
	return r == 1 ? sw_json_scan_next(&s, &name, &value, NULL) : r == 0 ? -SW_E_FORMAT : r;
}

static void all_take(const char *text, size_t size, unsigned depth_max, bool taken)
{
	int wanted = taken ? 0 : -SW_E_FORMAT;
	if (check(text, size, depth_max) != wanted)
		fail_msg("check, taken %d: %s", !taken, text);
	if (parse(text, size, depth_max) != wanted)
		fail_msg("parse, taken %d: %s", !taken, text);
	/* in an array also "1,2" and "" are well-formed, and are asked as they are above */
	if (memchr(text, ',', size) == NULL && size > 0 && scan(text, size, depth_max) != wanted)
		fail_msg("scan, taken %d: %s", !taken, text);
}

TEST(test_taken)
{
	static const char *const texts[] = {
		"{}",
		"[]",
		" { \"a\" : [ 1 , -2 , 0 , -0 ] ,\t\"b\" : { } }\r\n",
		"true",
		"null",
		"\"\"",
		"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0001\\uFFFD\"",
		"\"\\ud83d\\ude00\"",
		"\"\xf0\x9f\x98\x80 \xef\xbf\xbd \x7f\"",
		"9223372036854775807",
		"-9223372036854775808",
		"[1.5,-0.25e-3,1E+99,10.0]",
		"[[],[[]],{},{\"\":{}}]",
		"false",
		"0",
		"-0",
		"12",
		"-1.5",
		"1e9",
		"1.25E-3",
		"\"a\\n\\u00e9\\\\\\\"\"",
		"\"\xc3\xa9\xe2\x82\xac\"",
		"\"\xf0\x9f\x98\x80\"",
		" [ 1 , 2 ] ",
		"{\"a\":{\"b\":[1,{}]}}",
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(texts); i++)
		all_take(texts[i], strlen(texts[i]), 8, true);
}

TEST(test_refused)
{
	static const char *const texts[] = {
		"",
		" ",
		"{",
		"}",
		"[",
		"]",
		"{}{}",
		"{} x",
		"[1,]",
		"[,1]",
		"[1 2]",
		"[1}",
		"{]",
		"{1:2}",
		"{\"a\"}",
		"{\"a\":}",
		"{\"a\":1,}",
		"{\"a\" 1}",
		"{\"a\":1 \"b\":2}",
		"{'a':1}",
		"/* */{}",
		"{}//",
		"nul",
		"nulL",
		"True",
		"NaN",
		"Infinity",
		"-Infinity",
		"undefined",
		/* numbers */
		"01",
		"-",
		"+1",
		"1.",
		".5",
		"1e",
		"1e+",
		"0x10",
		"1_000",
		"--1",
		"1.5.5",
		/* strings */
		"\"",
		"\"a",
		"\"\\\"",
		"\"\\x\"",
		"\"\\",
		"\"\\u12\"",
		"\"\\u12g4\"",
		"\"\\u0000\"",
		"\"\\ud83d\"",
		"\"\\ud83dx\"",
		"\"\\ud83d\\n\"",
		"\"\\ud83d\\ud83d\"",
		"\"\\ude00\"",
		"\"\n\"",
		"\"\t\"",
		"\"\x01\"",
		"\"\xff\"",
		"\"\xc0\x80\"",
		"\"\xed\xa0\x80\"",
		"\"\xf4\x90\x80\x80\"",
		"\"\xe2\x82\"",
		"\"\xe2\x82",
		"{\"\xff\":1}",
		"\xef\xbb\xbf{}",
		"nulll",
		"\"\\ud800\"",
		"\"\\ud800\\u0041\"",
		"\"\\udc00\"",
		"\"\xc3\"",
		"[1",
		"[1[2]",
		"{a:1}",
		"{\"a\":1]",
		"1 2",
		"[] []",
		"'a'",
		"/**/1",
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(texts); i++)
		all_take(texts[i], strlen(texts[i]), 8, false);
}

/* Numbers that another reader cannot keep: the check refuses them, scan and tree have them as
 * text. */
TEST(test_numbers)
{
	static const char *const texts[] = {
		"9223372036854775808",
		"-9223372036854775809",
		"18446744073709551615",
		"1e400",
		"1e100",
		"0.1234567890123456789012345678901234567890",
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(texts); i++) {
		size_t size = strlen(texts[i]);
		struct sw_json_tree tree = {0};
		assert_int_equal(check(texts[i], size, 8), -SW_E_FORMAT);
		assert_int_equal(scan(texts[i], size, 8), 0);
		assert_int_equal(sw_json_parse(&tree, texts[i], size, 8, NULL), 0);
		assert_int_equal(tree.values->type, SW_JSON_NUMBER);
		assert_string_equal(tree.values->string, texts[i]);
		assert_int_equal(tree.values->n, size);
		sw_json_tree_deinit(&tree);
	}
}

/* Names that come twice: only the tree refuses them. */
TEST(test_twice)
{
	static const char *const texts[] = {"{\"a\":1,\"a\":2}", "{\"a\":null,\"a\":1}",
					    "{\"a\":null,\"a\":null}",
					    "{\"b\":[{\"a\":1,\"\\u0061\":1}]}",
					    "{\"\":1,\"b\":[],\"\":{}}"};
	struct sw_json_tree tree = {0};
	struct sw_error err;
	for (size_t i = 0; i < SW_ARRAY_SIZE(texts); i++) {
		size_t size = strlen(texts[i]);
		assert_int_equal(check(texts[i], size, 8), 0);
		assert_int_equal(sw_json_parse(&tree, texts[i], size, 8, &err), -SW_E_FORMAT);
		assert_string_equal(err.message, "two members have the same name");
	}
	static const char apart[] = "[{\"a\":{\"a\":1}},{\"a\":1,\"aa\":2,\"b\":3}]";
	assert_int_equal(sw_json_parse(&tree, apart, sizeof(apart) - 1, 8, NULL), 0);
	sw_json_tree_deinit(&tree);
}

/* The same where many names are sorted: also an object of 200,000 takes no time to speak of. */
TEST(test_twice_of_many)
{
	enum { MANY = 200000 };
	struct sw_text text = {0};
	struct sw_json_tree tree = {0};
	for (int i = 0; i < MANY; i++)
		sw_text_printf(&text, "%s\"%d\":%d", i == 0 ? "{" : ",", i, i);
	size_t size = text.size;
	sw_text_printf(&text, "}");
	assert_int_equal(sw_json_parse(&tree, text.data, text.size, 8, NULL), 0);
	assert_int_equal(tree.values->n, MANY);
	assert_int_equal(sw_json_member(tree.values, "199999")->integer, 199999);
	text.size = size;
	sw_text_printf(&text, ",\"77777\":null}");
	assert_int_equal(sw_json_parse(&tree, text.data, text.size, 8, NULL), -SW_E_FORMAT);
	sw_json_tree_deinit(&tree);
	sw_text_deinit(&text);
}

/* A NUL is never in a text; what is behind it does not hide. */
TEST(test_nul)
{
	all_take("{}\0", 3, 8, false);
	all_take("\"a\0b\"", 5, 8, false);
	all_take("[\0]", 3, 8, false);
	all_take("1\0", 2, 8, false);
	all_take("\"\\\0\"", 4, 8, false);
}

/* Every prefix of a value is no value. */
TEST(test_cut)
{
	static const char whole[] = "{\"a\":[1.5e3,\"\xe2\x82\xac\\u20ac\",true,null,{\"b\":-1}]}";
	struct sw_error err;
	for (size_t size = 0; size < sizeof(whole) - 1; size++) {
		assert_int_equal(check(whole, size, 8), -SW_E_FORMAT);
		assert_int_equal(parse(whole, size, 8), -SW_E_FORMAT);
	}
	all_take(whole, sizeof(whole) - 1, 8, true);
	assert_int_equal(sw_json_check(whole, 5, 8, &err), -SW_E_FORMAT);
	assert_string_equal(err.message, "this JSON is cut short");
}

static void nested(char *text, size_t depth, bool taken)
{
	memset(text, '[', depth);
	memset(text + depth, ']', depth);
	text[2 * depth] = '\0';
	all_take(text, 2 * depth, 16, taken && depth <= 16);
	int wanted = taken ? 0 : -SW_E_FORMAT;
	assert_int_equal(check(text, 2 * depth, 1000), wanted);
	assert_int_equal(parse(text, 2 * depth, 1000), wanted);
}

TEST(test_depth)
{
	static const struct {
		const char *text;
		unsigned depth;
		bool taken;
	} texts[] = {
		{"1", 0, true},
		{"[]", 0, false},
		{"{}", 0, false},
		{"[[[]]]", 3, true},
		{"[[[[]]]]", 3, false},
		{"{\"a\":[{\"b\":1}]}", 3, true},
		{"{\"a\":[{\"b\":[]}]}", 3, false},
		/* the depth of what was closed does not count */
		{"[[[]],[[]],[[]],{\"a\":[]}]", 3, true},
		/* objects and arrays are told apart at each depth */
		{"[{\"a\":[1,{\"b\":[2]}]},[{}]]", 8, true},
		{"[{\"a\":[1,{\"b\":[2}]]},[{}]]", 8, false},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(texts); i++)
		all_take(texts[i].text, strlen(texts[i].text), texts[i].depth, texts[i].taken);
	char text[2 * SW_JSON_DEPTH_MAX + 3];
	nested(text, 16, true);
	nested(text, 17, true);
	nested(text, SW_JSON_DEPTH_MAX, true);
	nested(text, SW_JSON_DEPTH_MAX + 1, false);
}

TEST(test_messages)
{
	struct sw_error err;
	struct sw_json_tree tree = {0};
	static const char text[] = "{\"a\":01}";
	assert_int_equal(sw_json_check(text, 8, 8, &err), -SW_E_FORMAT);
	assert_string_equal(err.message, "this cannot be read as JSON, at byte 7");
	assert_int_equal(sw_json_parse(&tree, text, 8, 8, &err), -SW_E_FORMAT);
	assert_string_equal(err.message, "this cannot be read as JSON, at byte 7");
	assert_int_equal(sw_json_check("", 0, 8, &err), -SW_E_FORMAT);
	assert_string_equal(err.message, "this is empty, where JSON is expected");
	assert_int_equal(sw_json_parse(&tree, text, (size_t) SW_JSON_TREE_BYTES_MAX + 1, 8, &err),
			 -SW_E_FORMAT);
	assert_string_equal(err.message, "2147483648 bytes of JSON are too many");
	sw_json_tree_deinit(&tree);
}

/* ---- scan ------------------------------------------------------------------------------------ */

static void check_next(struct sw_json_scan *s, const char *name, const char *value, size_t n)
{
	struct sw_json_part got_name, got_value;
	assert_int_equal(sw_json_scan_next(s, &got_name, &got_value, NULL), 1);
	assert_int_equal(got_name.size, strlen(name));
	assert_memory_equal(got_name.size > 0 ? got_name.data : "", name, strlen(name));
	assert_int_equal(got_value.size, strlen(value));
	assert_memory_equal(got_value.data, value, strlen(value));
	assert_int_equal(got_value.n, n);
}

static void check_end(struct sw_json_scan *s)
{
	struct sw_json_part name, value;
	assert_int_equal(sw_json_scan_next(s, &name, &value, NULL), 0);
	assert_int_equal(sw_json_scan_next(s, &name, &value, NULL), 0);
}

TEST(test_scan)
{
	static const char text[] =
		" { \"a\" : [ 1, [2,3] ] ,\"\\u0062\":\"},\", \"c\":{\"d\":-1}} \n";
	struct sw_json_scan s = sw_json_scan_begin(text, sizeof(text) - 1, 8);
	assert_int_equal(s.close, '}');
	check_next(&s, "a", "[ 1, [2,3] ]", 2);
	check_next(&s, "\\u0062", "\"},\"", 0);
	check_next(&s, "c", "{\"d\":-1}", 1);
	check_end(&s);
	assert_int_equal(s.at[-1], '}');
	assert_ptr_equal(s.at, text + sizeof(text) - 3);
	s = sw_json_scan_begin("[ 10 ,\"b\", [[]] ]", 17, 8);
	assert_int_equal(s.close, ']');
	check_next(&s, "", "10", 0);
	check_next(&s, "", "\"b\"", 0);
	check_next(&s, "", "[[]]", 1);
	check_end(&s);
	s = sw_json_scan_begin("[]", 2, 8);
	check_end(&s);
	s = sw_json_scan_begin("{ }", 3, 1);
	check_end(&s);
}

TEST(test_scan_refused)
{
	static const char *const texts[] = {"",      "12",      "[",     "{",        "[1",
					    "[1,",   "[1,]",    "[,1]",  "[1 2]",    "[] x",
					    "{} {}", "{\"a\"}", "{1:2}", "{\"a\":}", "{\"a\":1]"};
	for (size_t i = 0; i < SW_ARRAY_SIZE(texts); i++) {
		size_t size = strlen(texts[i]);
		sw_cleanup(sw_free_p) char *copy = exact(texts[i], size);
		struct sw_json_scan s = sw_json_scan_begin(copy, size, 8);
		struct sw_json_part name, value;
		int r;
		while ((r = sw_json_scan_next(&s, &name, &value, NULL)) > 0)
			continue;
		if (r != -SW_E_FORMAT)
			fail_msg("%d: %s", r, texts[i]);
	}
	struct sw_json_scan s = sw_json_scan_begin("[]", 2, 0);
	struct sw_json_part name, value;
	assert_int_equal(s.close, '\0');
	assert_int_equal(sw_json_scan_next(&s, &name, &value, NULL), -SW_E_FORMAT);
}

/* ---- tree ------------------------------------------------------------------------------------ */

TEST(test_values)
{
	static const char text[] =
		" {\"\\\"\\u00e9\": \"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00E4\\u20aC"
		"\\uFFFF\\uD834\\uDD1E\xc3\xa4\",\"i\":[ -9223372036854775808 , "
		"9223372036854775807,-0 ],\"d\":-2.5e-1,\"t\":true,\"f\":false,"
		"\"n\":null,\"e\":[{},[],\"\"]} ";
	struct sw_json_tree tree = {0};
	const struct sw_json *v;
	assert_int_equal(sw_json_parse(&tree, text, sizeof(text) - 1, 8, NULL), 0);
	const struct sw_json *root = tree.values;
	assert_int_equal(root->type, SW_JSON_OBJECT);
	assert_null(root->name);
	assert_int_equal(root->n, 7);
	assert_int_equal(root->span, tree.n);
	static const char decoded[] = "\"\\/\b\f\n\r\tA\xc3\xa4\xe2\x82\xac\xef\xbf\xbf"
				      "\xf0\x9d\x84\x9e\xc3\xa4";
	v = sw_json_member_of(root, "\"\xc3\xa9", SW_JSON_STRING);
	assert_string_equal(v->string, decoded);
	assert_int_equal(v->n, sizeof(decoded) - 1);
	assert_int_equal(v->name_size, 3);
	v = sw_json_member_of(root, "i", SW_JSON_ARRAY);
	assert_int_equal(v->n, 3);
	const struct sw_json *e = sw_json_first(v);
	assert_true(e->type == SW_JSON_INTEGER && e->integer == INT64_MIN && e->name == NULL);
	e = sw_json_next(v, e);
	assert_true(e->type == SW_JSON_INTEGER && e->integer == INT64_MAX);
	e = sw_json_next(v, e);
	assert_true(e->type == SW_JSON_INTEGER && e->integer == 0);
	assert_null(sw_json_next(v, e));
	assert_string_equal(sw_json_member_of(root, "d", SW_JSON_NUMBER)->string, "-2.5e-1");
	assert_true(sw_json_member_of(root, "t", SW_JSON_BOOLEAN)->boolean);
	assert_false(sw_json_member_of(root, "f", SW_JSON_BOOLEAN)->boolean);
	assert_int_equal(sw_json_member(root, "n")->type, SW_JSON_NULL);
	v = sw_json_member(root, "e");
	assert_int_equal(v->n, 3);
	e = sw_json_first(v);
	assert_true(e->type == SW_JSON_OBJECT && e->n == 0 && sw_json_first(e) == NULL);
	e = sw_json_next(v, e);
	assert_true(e->type == SW_JSON_ARRAY && e->n == 0 && sw_json_first(e) == NULL);
	e = sw_json_next(v, e);
	assert_true(e->type == SW_JSON_STRING && e->n == 0);
	assert_string_equal(e->string, "");
	sw_json_tree_deinit(&tree);
}

TEST(test_members)
{
	static const char text[] = "{\"a\":{\"b\":[{\"c\":1},2]},\"ab\":\"x\",\"\":3}";
	struct sw_json_tree tree = {0};
	assert_int_equal(sw_json_parse(&tree, text, sizeof(text) - 1, 8, NULL), 0);
	const struct sw_json *root = tree.values, *a = sw_json_member(root, "a");
	assert_int_equal(a->n, 1);
	assert_int_equal(sw_json_member(a, "b")->n, 2);
	assert_string_equal(sw_json_next(root, a)->name, "ab");
	assert_int_equal(sw_json_member(root, "")->integer, 3);
	assert_null(sw_json_member(root, "b")); /* of another object */
	assert_null(sw_json_member(root, "c"));
	assert_null(sw_json_member_of(root, "ab", SW_JSON_OBJECT));
	assert_null(sw_json_member(sw_json_member(root, "ab"), "x"));
	assert_null(sw_json_member(NULL, "a"));
	sw_json_tree_deinit(&tree);
}

/* A text of 16 MiB may have 8 million values, which would be a quarter of a GiB. */
TEST(test_too_many)
{
	struct sw_json_tree tree = {0};
	struct sw_error err;
	enum { ELEMENTS = SW_JSON_TREE_VALUES_MAX };
	size_t size = 2 * (size_t) ELEMENTS + 1; /* [0,0,...,0] */
	char *text = malloc(size);
	assert_non_null(text);
	for (size_t i = 0; i < size; i++)
		text[i] = i % 2 == 1 ? '0' : ',';
	text[0] = '[';
	text[size - 1] = ']';
	assert_int_equal(sw_json_parse(&tree, text, size, 8, &err), -SW_E_FORMAT);
	assert_string_equal(err.message, "more than 2097152 values of JSON are too many");
	text[size - 3] = ']';
	assert_int_equal(sw_json_parse(&tree, text, size - 2, 8, &err), 0);
	assert_int_equal(tree.n, SW_JSON_TREE_VALUES_MAX);
	sw_json_tree_deinit(&tree);
	free(text);
}

/* Another text in the memory of the one before; also after one that was refused. */
TEST(test_again)
{
	struct sw_json_tree tree = {0};
	struct sw_text large = {0};
	for (int i = 0; i < 1000; i++)
		sw_text_printf(&large, "%s\"%d\"", i == 0 ? "[" : ",", i);
	sw_text_printf(&large, "]");
	assert_int_equal(sw_json_parse(&tree, "[1,\"a\"]", 7, 8, NULL), 0);
	assert_int_equal(sw_json_parse(&tree, large.data, large.size, 8, NULL), 0);
	assert_int_equal(tree.n, 1001);
	const struct sw_json *values = tree.values;
	assert_int_equal(sw_json_parse(&tree, large.data, large.size - 1, 8, NULL), -SW_E_FORMAT);
	assert_int_equal(sw_json_parse(&tree, "\"b\"", 3, 8, NULL), 0);
	assert_ptr_equal(tree.values, values);
	assert_string_equal(tree.values->string, "b");
	sw_json_tree_deinit(&tree);
	assert_null(tree.values);
	sw_text_deinit(&large);
}
