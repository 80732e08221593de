/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/php/copied: functions of copies at events, what is read later and how that is proven. */
#include "runtimes/php/copied.h"
#include "fake.h"
#include "runtimes/php/chain.h"
#include "test.h"

enum {
	FUNCTION = 0x1000,
	CLASS = 0x2000,
	NAME = 0x3000,
	CLASS_NAME = 0x4000,
	FILE_NAME = 0x5000,
	OPCODES = 0x6000,
	N_OPCODES = 3,
	HEAD = SW_PHP_STRING_TEXT, /* of a string */
};

struct string {
	uint64_t refcount, hash, length;
	char text[64];
};

static uint8_t function[SW_PHP_FUNC_BYTES], function_now[SW_PHP_FUNC_BYTES];
static uint64_t class_entry[2];
static struct string name, name_now, class_name, file;
static uint8_t opcodes[N_OPCODES * SW_PHP_OP_BYTES];
static struct fake_region copied_regions[6], later_regions[6];
static struct fake_memory copied_memory, later_memory;
static struct sw_php_copied copied;
static struct sw_php_copied_source from;
static struct sw_php_call call;

static void put(uint8_t *bytes, size_t off, uint64_t value, size_t size)
{
	memcpy(bytes + off, &value, size);
}

static void string_set(struct string *s, const char *text)
{
	*s = (struct string){1, sw_php_string_hash(text, strlen(text)), strlen(text), ""};
	memcpy(s->text, text, strlen(text));
}

/* The copy has the whole name of the class, and of the other strings their heads. */
static int setup(void **state)
{
	const struct sw_php_layout *at = sw_php_layout_of(8, 2);
	memset(function, 0, sizeof(function));
	function[SW_PHP_FUNC_TYPE] = SW_PHP_USER_FUNCTION;
	put(function, SW_PHP_FUNC_NAME, NAME, 8);
	put(function, SW_PHP_FUNC_SCOPE, CLASS, 8);
	put(function, at->op_filename, FILE_NAME, 8);
	put(function, at->op_line_start, 10, 4);
	put(function, at->op_line_start + 4U, 19, 4);
	put(function, at->op_opcodes, OPCODES, 8);
	put(function, at->op_last, N_OPCODES, 4);
	memcpy(function_now, function, sizeof(function));
	class_entry[1] = CLASS_NAME;
	string_set(&name, "handle");
	name_now = name;
	string_set(&class_name, "App");
	string_set(&file, "/srv/\xc3\xa9t\xc3\xa9.php");
	for (size_t i = 0; i < N_OPCODES; i++)
		put(opcodes, i * SW_PHP_OP_BYTES + SW_PHP_OP_LINE, 11 + i, 4);
	const struct fake_region in_copy[] = {{FUNCTION, function, sizeof(function)},
					      {CLASS, class_entry, sizeof(class_entry)},
					      {NAME, &name, HEAD},
					      {CLASS_NAME, &class_name, sizeof(class_name)},
					      {FILE_NAME, &file, HEAD}};
	const struct fake_region later[] = {{FUNCTION, function_now, sizeof(function_now)},
					    {NAME, &name_now, sizeof(name_now)},
					    {FILE_NAME, &file, sizeof(file)},
					    {OPCODES, opcodes, sizeof(opcodes)}};
	memcpy(copied_regions, in_copy, sizeof(in_copy));
	memcpy(later_regions, later, sizeof(later));
	copied_memory = (struct fake_memory){.regions = copied_regions, .n_regions = 5};
	later_memory = (struct fake_memory){.regions = later_regions, .n_regions = 4};
	from = (struct sw_php_copied_source){fake_memory(&copied_memory),
					     fake_memory(&later_memory), at};
	call = (struct sw_php_call){.func_avma = FUNCTION,
				    .type = SW_PHP_USER_FUNCTION,
				    .opcodes_avma = OPCODES,
				    .opcodes_end_avma = OPCODES + sizeof(opcodes)};
	copied = (struct sw_php_copied){0};
	return 0;
}

static int teardown(void **state)
{
	sw_php_copied_deinit(&copied);
	return 0;
}

/* The cookie of the call in another copy. */
static uint64_t cookie_at(size_t instruction)
{
	sw_php_copied_begin(&copied);
	return sw_php_copied_cookie(&copied, &from, &call, OPCODES + instruction * SW_PHP_OP_BYTES,
				    false);
}

static const char *said(uint64_t cookie)
{
	static struct sw_description d;
	static char text[8192];
	const struct sw_frame frame = {.cookie = cookie};
	memset(&d, 0, sizeof(d));
	if (sw_php_copied_names(&copied, &frame, &d) == 0)
		return "nothing";
	(void) snprintf(text, sizeof(text), "%s %s:%u", d.function, d.file, d.line);
	return text;
}

/* PHP's own hash; characters are signed. */
TEST(test_hash)
{
	assert_int_equal(sw_php_string_hash("", 0), UINT64_C(0x8000000000001505));
	assert_int_equal(sw_php_string_hash("a", 1), UINT64_C(0x800000000002b606));
	assert_int_equal(sw_php_string_hash("\xc3", 1),
			 (5381U * 33U - 61U) | UINT64_C(0x8000000000000000));
}

TEST_WITH(test_named, setup, teardown)
{
	uint64_t first = cookie_at(0), second = cookie_at(1);
	assert_string_equal(said(first), "App::handle /srv/\xc3\xa9t\xc3\xa9.php:11");
	assert_string_equal(said(second), "App::handle /srv/\xc3\xa9t\xc3\xa9.php:12");
	assert_int_equal(cookie_at(0), first);
	assert_string_equal(said(0), "nothing");
	assert_string_equal(said(99), "nothing");
}

/* A closure is made anew: it lies elsewhere, and is the same function. */
TEST_WITH(test_elsewhere, setup, teardown)
{
	uint64_t first = cookie_at(0);
	copied_regions[0].start_avma = later_regions[0].start_avma = 0x8000;
	call.func_avma = 0x8000;
	assert_int_equal(cookie_at(0), first);
	assert_int_equal(copied.n_functions, 1);
}

/* Another function at the same address, with the same pointers: its texts tell it. */
TEST_WITH(test_made_anew, setup, teardown)
{
	uint64_t first = cookie_at(0);
	string_set(&name, "delete");
	name_now = name;
	uint64_t other = cookie_at(0);
	assert_int_not_equal(other, first);
	assert_string_equal(said(other), "App::delete /srv/\xc3\xa9t\xc3\xa9.php:11");
	assert_string_equal(said(first), "App::handle /srv/\xc3\xa9t\xc3\xa9.php:11");
}

/* A text that is another one by now is not the copy's; once it is that again, the function has its name. */
TEST_WITH(test_freed, setup, teardown)
{
	string_set(&name_now, "delete");
	uint64_t cookie = cookie_at(0);
	assert_int_not_equal(cookie, 0);
	assert_string_equal(said(cookie), "nothing");
	name_now = name;
	assert_int_equal(cookie_at(0), cookie);
	assert_string_equal(said(cookie), "App::handle /srv/\xc3\xa9t\xc3\xa9.php:11");
}

/* Instructions of a function that is another one by now are not its own. */
TEST_WITH(test_lines, setup, teardown)
{
	put(function_now, sw_php_layout_of(8, 2)->op_line_start, 12, 4);
	uint64_t unknown = cookie_at(0);
	assert_string_equal(said(unknown), "App::handle /srv/\xc3\xa9t\xc3\xa9.php:0");
	memcpy(function_now, function, sizeof(function));
	uint64_t known = cookie_at(0);
	assert_int_not_equal(known, unknown);
	assert_string_equal(said(known), "App::handle /srv/\xc3\xa9t\xc3\xa9.php:11");
	assert_string_equal(said(unknown), "App::handle /srv/\xc3\xa9t\xc3\xa9.php:0");
}

/* A function of which the copy lacks a part is no function. */
TEST_WITH(test_not_copied, setup, teardown)
{
	copied_memory.n_regions = 2;
	assert_int_equal(cookie_at(0), 0);
	copied_memory.n_regions = 0;
	assert_int_equal(cookie_at(0), 0);
}
