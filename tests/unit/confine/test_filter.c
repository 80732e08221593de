/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cleanup.h"
#include "errors.h"
#include "test.h"

#include <confine/filter.h>

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* Calls that do nothing for who gives these numbers; the filter alone decides what they answer. */
enum { ONE = SYS_getpid, TWO = SYS_getuid, OTHER = SYS_getgid, A = 41, B = 42, C = 43, REST = 44 };

#define ANSWER(number) (SECCOMP_RET_ERRNO | (uint32_t) (number))

struct call {
	long number, arguments[3];
	int wanted; /* the error that it is answered with; 0: the kernel's answer; below 0: killed */
};

/* The result of the call in a child that has entered the filter. */
static int outcome(const struct sw_filter *filter, const struct call *call)
{
	int status;
	struct sw_error err;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || sw_filter_enter(filter, &err) < 0)
			_exit(99);
		errno = 0;
		(void) syscall(call->number, call->arguments[0], call->arguments[1],
			       call->arguments[2]);
		/* Not _exit(), before which a sanitizer does more than the filter lets it. */
		(void) syscall(SYS_exit_group, errno);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status)) {
		assert_int_equal(WTERMSIG(status), SIGSYS);
		return -1;
	}
	return WEXITSTATUS(status);
}

static void check(const struct sw_filter *filter, const struct call *calls, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int got = outcome(filter, &calls[i]);
		if (got != calls[i].wanted)
			fail_msg("call %zu: %d, not %d", i, got, calls[i].wanted);
	}
}

/* A first rule that does not hold leaves the number of the call for the second. */
TEST(test_rules)
{
	static const uint32_t both[] = {ONE, TWO};
	static const struct sw_filter_rule rules[] = {
		{.call = ONE, .action = ANSWER(A), .argument = 1, .mask = 0xf0, .value = 0x30},
		{.call = ONE, .action = ANSWER(B), .argument = 2, .mask = 4, .value = 0},
	};
	static const struct sw_filter_group group = {both, SW_ARRAY_SIZE(both), ANSWER(C)};
	static const struct call calls[] = {
		{ONE, {0, 0x30, 4}, A}, {ONE, {0, 0x3f, 0}, A},      {ONE, {0, 0x31, 4}, A},
		{ONE, {0, 0x10, 0}, B}, {ONE, {0x30, 0x70, 3}, B},   {ONE, {0, 0, 4}, C},
		{ONE, {0, 0, 7}, C},    {TWO, {0, 0x30, 0}, C},      {TWO, {0, 0, 0}, C},
		{OTHER, {0, 0, 0}, 0},  {0x40000000 | ONE, {0}, -1},
	};
	struct sw_filter filter = {.n = 0};
	struct sw_error err = {0};
	sw_filter_begin(&filter);
	sw_filter_add(&filter, &rules[0]);
	sw_filter_add(&filter, &rules[1]);
	sw_filter_add_group(&filter, &group);
	assert_int_equal(sw_filter_end(&filter, SECCOMP_RET_ALLOW, &err), 0);
	check(&filter, calls, SW_ARRAY_SIZE(calls));
}

TEST(test_others)
{
	static const uint32_t allowed[] = {SYS_exit_group, TWO};
	static const struct sw_filter_group group = {allowed, SW_ARRAY_SIZE(allowed),
						     SECCOMP_RET_ALLOW};
	static const struct call calls[] = {{ONE, {0}, REST}, {TWO, {0}, 0}, {9999, {0}, REST}};
	struct sw_filter filter = {.n = 0};
	struct sw_error err = {0};
	sw_filter_begin(&filter);
	sw_filter_add_group(&filter, &group);
	assert_int_equal(sw_filter_end(&filter, ANSWER(REST), &err), 0);
	check(&filter, calls, SW_ARRAY_SIZE(calls));
}

/* Another machine's calls have other numbers: the first thing that is compared. */
TEST(test_machine)
{
	struct sw_filter filter = {.n = 0};
	sw_filter_begin(&filter);
	assert_int_equal(filter.program[0].k, offsetof(struct seccomp_data, arch));
	assert_int_equal(filter.program[1].k, AUDIT_ARCH_X86_64);
	assert_int_equal(filter.program[1].jt, 1);
	assert_int_equal(filter.program[1].jf, 0);
	assert_int_equal(filter.program[2].k, SECCOMP_RET_KILL_PROCESS);
}

TEST(test_full)
{
	static const struct sw_filter_rule rule = {.call = ONE, .action = ANSWER(A)};
	struct sw_filter filter = {.n = 0};
	struct sw_error err = {0};
	sw_filter_begin(&filter);
	while (filter.n + 2 < SW_FILTER_INSTRUCTIONS_MAX)
		sw_filter_add(&filter, &rule);
	struct sw_filter fuller = filter;
	assert_int_equal(sw_filter_end(&filter, SECCOMP_RET_ALLOW, &err), 0);
	sw_filter_add(&fuller, &rule);
	assert_int_equal(sw_filter_end(&fuller, SECCOMP_RET_ALLOW, &err), -SW_E_INTERNAL);
	assert_string_equal(err.message, "a filter of system calls has too many rules");
	assert_int_equal(fuller.n, SW_FILTER_INSTRUCTIONS_MAX);
}

/* All of several arguments, of which the first that differs leaves the call to the next rule. */
TEST(test_also)
{
	static const struct sw_filter_rule third = {.argument = 2, .mask = UINT32_MAX, .value = 7},
					   second = {.argument = 1,
						     .mask = 0xf,
						     .value = 0,
						     .also = &third};
	static const struct sw_filter_rule rules[] = {
		{.call = ONE,
		 .action = ANSWER(A),
		 .argument = 0,
		 .mask = UINT32_MAX,
		 .value = 5,
		 .also = &second},
		{.call = ONE, .action = ANSWER(B), .argument = 0, .mask = UINT32_MAX, .value = 5},
	};
	static const struct call calls[] = {
		{ONE, {5, 0, 7}, A},      {ONE, {5, 0x30, 7}, A}, {ONE, {5, 1, 7}, B},
		{ONE, {5, 0, 6}, B},      {ONE, {4, 0, 7}, REST}, {TWO, {5, 0, 7}, REST},
		{OTHER, {5, 0, 7}, REST},
	};
	struct sw_filter filter = {.n = 0};
	struct sw_error err = {0};
	sw_filter_begin(&filter);
	static const struct sw_filter_rule leave = {.call = SYS_exit_group,
						    .action = SECCOMP_RET_ALLOW};
	sw_filter_add(&filter, &leave);
	for (size_t i = 0; i < SW_ARRAY_SIZE(rules); i++)
		sw_filter_add(&filter, &rules[i]);
	assert_int_equal(sw_filter_end(&filter, ANSWER(REST), &err), 0);
	check(&filter, calls, SW_ARRAY_SIZE(calls));
}
