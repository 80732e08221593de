/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The lines of a process without privileges, which are not believed. */
#include "cleanup.h"
#include "test.h"

#include <snapwalk/probes.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static struct sw_function f; /* too large for a stack, as its lines */
static char text[16 << 10];
static pid_t child;
static struct sw_target *target;

static int take(const struct sw_snapshot *snap)
{
	struct sw_error err = {0};
	sw_function_deinit(&f);
	return sw_function_take(target, snap, text, &f, &err);
}

static int setup(void **state)
{
	child = fork();
	if (child == 0) {
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	return sw_target_open(child, &target, NULL);
}

static int teardown(void **state)
{
	sw_function_deinit(&f);
	sw_target_close(target);
	(void) kill(child, SIGKILL);
	(void) waitpid(child, NULL, 0);
	return 0;
}

TEST(the_parts_of_a_name)
{
	static const struct {
		const char *text, *name;
		size_t module;
	} good[] = {{"main", "main", 0},
		    {"libssl.so:SSL_read", "SSL_read", 9},
		    {"a::b", "a::b", 0},
		    {"::b", "::b", 0},
		    {"/a/b.so:ns::f(int)", "ns::f(int)", 7}},
	  bad[] = {{"", NULL, 0}, {":f", NULL, 0}, {"lib:", NULL, 0}};
	size_t length;
	const char *name;
	for (size_t i = 0; i < SW_ARRAY_SIZE(good); i++) {
		assert_true(sw_probe_split(good[i].text, &length, &name));
		assert_string_equal(name, good[i].name);
		assert_int_equal(length, good[i].module);
	}
	for (size_t i = 0; i < SW_ARRAY_SIZE(bad); i++)
		assert_false(sw_probe_split(bad[i].text, &length, &name));
}

/* Each line lacks something, or has too much of it: nothing is taken. */
TEST_WITH(lines_of_nonsense, setup, teardown)
{
	static const char *const bad[] = {
		"x",
		"= 0\nm\n1000 2000",
		"= 0\nm\n1000 2000 0 0 0 0 65 name",
		"= 0\nm\n1000 2000 0 0 0 0 1 name",
		"= 0\nm\n1000 2000 0 0 0 0 0 0 0 7 name",
		"= 0\nm\n1000 2000 0 0 0 0 0 0 0 1 9 4 0 0 0 0 0 0 name",
		"= 0\nm\n1000 2000 0 0 0 0 0 0 0 1 2 9 0 0 0 0 0 0 name",
		"- 128 1 why",
		"- x",
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(bad); i++) {
		snprintf(text, sizeof(text), "%s", bad[i]);
		assert_int_equal(take(NULL), -SW_E_INTERNAL);
		assert_int_equal(f.n + f.n_missing, 0);
	}
}

/* More places than there can be. */
TEST_WITH(too_many_lines, setup, teardown)
{
	size_t n = 0;
	for (int i = 0; i <= SW_EVENT_PLACES_MAX; i++)
		n += (size_t) snprintf(text + n, sizeof(text) - n, "- 1 1 why\n");
	assert_int_equal(take(NULL), -SW_E_INTERNAL);
	assert_int_equal(f.n_missing, SW_EVENT_PLACES_MAX);
	assert_string_equal(f.missing[0].why, "why");
}

/* An address that no mapping has leads to no file, also where the snapshot says that there is one without a file. */
TEST_WITH(files_that_are_not_there, setup, teardown)
{
	struct sw_map map = {.start_avma = 0x1000, .end_avma = 0x2000, .place = -1};
	struct sw_snapshot snap = {.maps = &map, .n_maps = 1};
	for (int i = 0; i < 2; i++) {
		snprintf(text, sizeof(text), "= 0\nm\n1000 2000 0 0 0 0 0 0 0 0 name");
		assert_true(take(i == 0 ? NULL : &snap) < 0);
		assert_int_equal(f.n, 0);
	}
}
