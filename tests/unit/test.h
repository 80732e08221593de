/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_TEST_H
#define SW_TEST_H

/* Headers of the C library that nearly every test uses. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* Headers that cmocka.h needs before it, and bool. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/*
 * TEST(name) and TEST_WITH(name, setup, teardown) begin the definition of a test. TEST_OF(name, struct fixture *f) is one
 * with the file's setup() and teardown(), whose argument is what setup() has made. Each test adds itself to the table of
 * its file before main() is called, in the order of the file; main() runs the table. A file whose main() does more
 * defines TEST_OWN_MAIN before it includes this header, and calls TEST_RUN(setup, teardown) itself.
 */
enum { FILE_TESTS_MAX = 96 };
static struct CMUnitTest file_tests[FILE_TESTS_MAX];
static size_t n_file_tests;

static void file_tests_add(struct CMUnitTest test)
{
	if (n_file_tests == FILE_TESTS_MAX)
		abort();
	file_tests[n_file_tests++] = test;
}

#define TEST_WITH(name, setup, teardown)                                                 \
	static void name(void **state);                                                  \
	__attribute__((constructor)) static void name##_add(void)                        \
	{                                                                                \
		file_tests_add((struct CMUnitTest){#name, name, setup, teardown, NULL}); \
	}                                                                                \
	static void name(void **state)
#define TEST(name) TEST_WITH(name, NULL, NULL)
#define TEST_OF(name, argument)          \
	static void name##_of(argument); \
	TEST_WITH(name, setup, teardown) \
	{                                \
		name##_of(*state);       \
	}                                \
	static void name##_of(argument)
/* cmocka passes over the entries that no test has. */
#define TEST_RUN(setup, teardown) cmocka_run_group_tests(file_tests, setup, teardown)

#ifndef TEST_OWN_MAIN
int main(void)
{
	return TEST_RUN(NULL, NULL);
}
#endif

#endif
