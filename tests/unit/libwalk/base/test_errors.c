/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "errors.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

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
static void table(void **state)
{
	(void) state;
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

static void filled(void **state)
{
	struct sw_error err = {.address = 5, .sys_errno = 3};
	(void) state;
	errno = ENOENT;
	assert_int_equal(sw_fail(&err, SW_E_FORMAT, "%s: bad at %d", "x.so", 7), -SW_E_FORMAT);
	assert_int_equal(err.code, SW_E_FORMAT);
	assert_int_equal(err.sys_errno, 0);
	assert_int_equal(err.address, 0);
	assert_string_equal(err.message, "x.so: bad at 7");
	assert_int_equal(errno, ENOENT);
	assert_int_equal(sw_fail(NULL, SW_E_LIMIT, "nobody listens"), -SW_E_LIMIT);
}

static void fail_without_words(void **state)
{
	struct sw_error err;
	const char *nothing = "";
	(void) state;
	assert_int_equal(sw_fail(&err, SW_E_EXITED, "%s", nothing), -SW_E_EXITED);
	assert_string_equal(err.message, "it exited meanwhile");
	assert_int_equal(sw_fail_nomem(&err), -SW_E_NOMEM);
	assert_string_equal(err.message, "not enough memory");
}

static void fail_errno(void **state)
{
	struct sw_error err;
	const char *nothing = "";
	(void) state;
	errno = EACCES;
	assert_int_equal(sw_fail_errno(&err, SW_E_IO, "cannot open %s", "/x"), -SW_E_IO);
	assert_int_equal(err.sys_errno, EACCES);
	assert_string_equal(err.message, "cannot open /x: Permission denied");
	assert_int_equal(errno, EACCES);
	assert_int_equal(sw_fail_errno(&err, SW_E_IO, "%s", nothing), -SW_E_IO);
	assert_string_equal(err.message, "Permission denied");
}

static void long_messages_are_cut(void **state)
{
	struct sw_error err;
	(void) state;
	errno = EACCES;
	assert_int_equal(sw_fail(&err, SW_E_IO, "%500d", 1), -SW_E_IO);
	assert_int_equal(strlen(err.message), SW_ERROR_MESSAGE_MAX - 1);
	assert_int_equal(sw_fail_errno(&err, SW_E_IO, "%250d", 1), -SW_E_IO);
	assert_int_equal(strlen(err.message), SW_ERROR_MESSAGE_MAX - 1);
	assert_string_equal(err.message + 249, "1: Per");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table),
		cmocka_unit_test(filled),
		cmocka_unit_test(fail_without_words),
		cmocka_unit_test(fail_errno),
		cmocka_unit_test(long_messages_are_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
