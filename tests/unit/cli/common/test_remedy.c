/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cleanup.h"
#include "common/complain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static void test_every_error_has_a_remedy(void **state)
{
	(void) state;
	static const char *const wires[] = {
#define SW_ERROR(name, number, wire, text) wire,
#include <snapwalk/error_codes.def>
#undef SW_ERROR
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(wires); i++)
		if (sw_remedy(wires[i])[0] == '\0')
			fail_msg("error %s has no remedy", wires[i]);
}

static void test_every_warning_has_a_remedy(void **state)
{
	(void) state;
	for (int w = SW_WARN_STOP_TIMEOUT; w <= SW_WARN_PROGRAM; w++)
		if (sw_remedy(sw_warning_name((enum sw_warning_code) w))[0] == '\0')
			fail_msg("warning %s has no remedy",
				 sw_warning_name((enum sw_warning_code) w));
	assert_string_equal(sw_remedy("never heard of"), "");
}

static void test_every_end_has_a_remedy(void **state)
{
	(void) state;
	for (unsigned end = SW_END_COMPLETE + 1; end <= SW_END_INTERNAL; end++)
		if (sw_remedy(sw_end_name(end))[0] == '\0')
			fail_msg("end %s has no remedy", sw_end_name(end));
}

static void test_worst_status(void **state)
{
	(void) state;
	assert_int_equal(sw_status_worse(0, 0), 0);
	assert_int_equal(sw_status_worse(0, 3), 3);
	assert_int_equal(sw_status_worse(3, 1), 1);
	assert_int_equal(sw_status_worse(1, 77), 77);
	assert_int_equal(sw_status_worse(77, 2), 2);
}

static void test_status_of_errors(void **state)
{
	(void) state;
	struct sw_error denied = {.code = SW_E_NOT_PERMITTED}, gone = {.code = SW_E_EXITED};
	assert_int_equal(sw_status_of(&denied), 77);
	assert_int_equal(sw_status_of(&gone), 1);
}

/* A thread may be called whatever it likes. */
static void test_control_characters_are_shown(void **state)
{
	(void) state;
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	sw_print_visible(f, "a\033[2Jb\x7f\n\xc2\x9b"
			    "c\xc3\xa4\r");
	assert_int_equal(fclose(f), 0);
	assert_string_equal(text, "a\\x1b[2Jb\\x7f\n\\xc2\\x9bc\xc3\xa4\\x0d");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_error_has_a_remedy),
		cmocka_unit_test(test_every_warning_has_a_remedy),
		cmocka_unit_test(test_every_end_has_a_remedy),
		cmocka_unit_test(test_worst_status),
		cmocka_unit_test(test_status_of_errors),
		cmocka_unit_test(test_control_characters_are_shown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
