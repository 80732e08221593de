/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "errors.h"
#include "test.h"

static const struct {
	int code;
	const char *wire, *text;
} codes[] = {
#define SW_ERROR(name, number, wire, text) {SW_E_##name, wire, text},
#include <snapwalk/error_codes.def>
#undef SW_ERROR
};
enum { N_CODES = sizeof(codes) / sizeof(codes[0]) };

/* Numbers and wire names are an interface: in a row from 1, each once. */
TEST(table)
{
	for (int i = 0; i < N_CODES; i++) {
		assert_int_equal(codes[i].code, i + 1);
		assert_string_equal(sw_error_wire(i + 1), codes[i].wire);
		assert_string_equal(sw_error_wire(-(i + 1)), codes[i].wire);
		assert_string_equal(sw_error_text(-(i + 1)), codes[i].text);
		assert_int_equal(strspn(codes[i].wire, "abcdefghijklmnopqrstuvwxyz_"),
				 strlen(codes[i].wire));
		for (int k = 0; k < i; k++)
			assert_string_not_equal(codes[i].wire, codes[k].wire);
	}
	assert_int_equal(SW_E_NOT_PERMITTED, 5);
	assert_int_equal(SW_E_INTERNAL, 22);
	assert_string_equal(sw_error_wire(0), "unknown");
	assert_string_equal(sw_error_text(99999), "unknown error");
}

TEST(filled)
{
	struct sw_error err = {.address = 5, .sys_errno = 3};
	errno = ENOENT;
	assert_int_equal(sw_fail(&err, SW_E_FORMAT, "%s: bad at %d", "x.so", 7), -SW_E_FORMAT);
	assert_int_equal(err.code, SW_E_FORMAT);
	assert_int_equal(err.sys_errno, 0);
	assert_int_equal(err.address, 0);
	assert_string_equal(err.message, "x.so: bad at 7");
	assert_int_equal(errno, ENOENT);
	assert_int_equal(sw_fail(NULL, SW_E_LIMIT, "nobody listens"), -SW_E_LIMIT);
}

TEST(fail_without_words)
{
	struct sw_error err;
	const char *nothing = "";
	assert_int_equal(sw_fail(&err, SW_E_EXITED, "%s", nothing), -SW_E_EXITED);
	assert_string_equal(err.message, "it exited meanwhile");
	assert_int_equal(sw_fail_nomem(&err), -SW_E_NOMEM);
	assert_string_equal(err.message, "not enough memory");
}

TEST(fail_errno)
{
	struct sw_error err;
	const char *nothing = "";
	errno = EACCES;
	assert_int_equal(sw_fail_errno(&err, SW_E_IO, "cannot open %s", "/x"), -SW_E_IO);
	assert_int_equal(err.sys_errno, EACCES);
	assert_string_equal(err.message, "cannot open /x: Permission denied");
	assert_int_equal(errno, EACCES);
	assert_int_equal(sw_fail_errno(&err, SW_E_IO, "%s", nothing), -SW_E_IO);
	assert_string_equal(err.message, "Permission denied");
}

TEST(long_messages_are_cut)
{
	struct sw_error err;
	errno = EACCES;
	assert_int_equal(sw_fail(&err, SW_E_IO, "%500d", 1), -SW_E_IO);
	assert_int_equal(strlen(err.message), SW_ERROR_MESSAGE_MAX - 1);
	assert_int_equal(sw_fail_errno(&err, SW_E_IO, "%250d", 1), -SW_E_IO);
	assert_int_equal(strlen(err.message), SW_ERROR_MESSAGE_MAX - 1);
	assert_string_equal(err.message + 249, "1: Per");
}
