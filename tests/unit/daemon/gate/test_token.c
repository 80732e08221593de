/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gate/token.h"
#include "cleanup.h"
#include "test.h"

TEST(test_matches)
{
	static const char token[] = "0123456789abcdef";
	assert_true(sw_gate_token_matches(token, "Bearer 0123456789abcdef"));
	assert_true(sw_gate_token_matches(token, "bearer  0123456789abcdef"));
	/* "any:0123456789abcdef" and ":0123456789abcdef" */
	assert_true(sw_gate_token_matches(token, "Basic YW55OjAxMjM0NTY3ODlhYmNkZWY="));
	assert_true(sw_gate_token_matches(token, "basic OjAxMjM0NTY3ODlhYmNkZWY="));
	static const char *const wrong[] = {
		"Basic ",
		"Basic OjAxMjM0NTY3ODlhYmNkZWYK",     /* ":0123456789abcdef\n" */
		"Basic OjAxMjM0NTY3ODlhYmNkZQ==",     /* without the last character */
		"Basic MDEyMzQ1Njc4OWFiY2RlZg==",     /* without a colon */
		"Basic YTpiOjAxMjM0NTY3ODlhYmNkZWY=", /* "a:b:0123456789abcdef" */
		"Basic *jAxMjM0NTY3ODlhYmNkZWY=",
		NULL,
		"",
		"Bearer",
		"Bearer ",
		"0123456789abcdef",
		"Basic 0123456789abcdef",
		"Bearer 0123456789abcde",
		"Bearer 0123456789abcdeF",
		"Bearer 0123456789abcdef0123456789abcdef",
		"Bearer 0123456789abcdef ",
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(wrong); i++)
		if (sw_gate_token_matches(token, wrong[i]))
			fail_msg("'%s' was taken", wrong[i]);
}

static int load(const char *content, size_t size, char **ret, struct sw_error *err)
{
	char path[] = "/tmp/gate-token-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, size), size);
	assert_int_equal(close(fd), 0);
	int r = sw_gate_token_load(path, ret, err);
	assert_int_equal(unlink(path), 0);
	return r;
}

TEST(test_load)
{
	static const char *const contents[] = {"0123456789abcdef", "0123456789abcdef\n",
					       "0123456789abcdef\r\nsecond line\n"};
	for (size_t i = 0; i < SW_ARRAY_SIZE(contents); i++) {
		sw_cleanup(sw_free_p) char *token = NULL;
		assert_int_equal(load(contents[i], strlen(contents[i]), &token, NULL), 0);
		assert_string_equal(token, "0123456789abcdef");
	}
}

TEST(test_bad_files)
{
	char *token = NULL, big[SW_GATE_TOKEN_MAX + 1];
	struct sw_error err;
	memset(big, 'a', sizeof(big));
	assert_int_equal(load("", 0, &token, &err), -SW_E_FORMAT);
	assert_int_equal(load("short\n", 6, &token, &err), -SW_E_FORMAT);
	assert_non_null(strstr(err.message, "a token has at least 16 characters"));
	assert_int_equal(load("0123456789 abcdef\n", 18, &token, &err), -SW_E_FORMAT);
	assert_non_null(strstr(err.message, "a token is letters, digits and -._~+/="));
	assert_int_equal(load(big, sizeof(big), &token, &err), -SW_E_LIMIT);
	assert_int_equal(sw_gate_token_load("/nonexistent/token", &token, &err), -SW_E_IO);
	assert_string_equal(err.message, "/nonexistent/token: No such file or directory");
	assert_null(token);
}
