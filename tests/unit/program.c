/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The main() of a program with many unit tests: runs the one by whose name the program was called, which is a symbolic
 * link in a folder like that of the test (tests.mk).
 *
 * TESTS is a file of tests.mk with a line for each test, TEST("FOLDER/test_NAME", main_of_FOLDER_test_NAME). That
 * function is the test's main(), renamed by the compiler.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Some take no arguments: in the calling convention of all our machines that makes no difference. */
#define TEST(name, function) int function(int argc, char **argv);
#include TESTS
#undef TEST

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} tests[] = {
#define TEST(name, function) {name, function},
#include TESTS
#undef TEST
};

int main(int argc, char **argv)
{
	size_t given = strlen(argv[0]);
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		size_t length = strlen(tests[i].name);
		if (given > length && argv[0][given - length - 1] == '/' &&
		    strcmp(argv[0] + given - length, tests[i].name) == 0)
			return tests[i].run(argc, argv);
	}
	fprintf(stderr, "%s: no test has this name: the tests of this program are\n", argv[0]);
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		fprintf(stderr, "  %s\n", tests[i].name);
	return 2;
}
