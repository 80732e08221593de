/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Children that are not trusted to end. */
#include "run/apart.h"
#include "cleanup.h"
#include "errors.h"
#include "test.h"

#include <snapwalk/clock.h>
#include <string.h>
#include <unistd.h>

static int answer(void *arg, int fd)
{
	return write(fd, "four", 4) == 4 ? 7 : 1;
}

static int sleep_on(void *arg, int fd)
{
	(void) pause(); /* no signal comes but that which kills it */
	return 0;
}

static int write_on(void *arg, int fd)
{
	char bytes[4096];
	memset(bytes, 'x', sizeof(bytes));
	while (write(fd, bytes, sizeof(bytes)) > 0)
		;
	return 0;
}

static int finish(int (*work)(void *arg, int fd), int64_t for_ns, size_t max_bytes,
		  size_t *ret_size, int *ret_status)
{
	struct sw_apart apart;
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	assert_int_equal(sw_apart_start(&apart, work, NULL, NULL), 0);
	int r = sw_apart_finish_within(&apart, for_ns > 0 ? sw_clock_ns() + for_ns : 0, max_bytes,
				       &text, ret_status, NULL);
	*ret_size = text.size;
	assert_int_equal(apart.pid, 0);
	return r;
}

TEST(test_answer)
{
	size_t size;
	int status = 0;
	assert_int_equal(finish(answer, 0, 4, &size, &status), 0);
	assert_int_equal(size, 4);
	assert_int_equal(status, 7);
}

TEST(test_deadline)
{
	size_t size;
	int status = 0;
	assert_int_equal(finish(sleep_on, 10000000, 4, &size, &status), -SW_E_TIMEOUT);
}

TEST(test_too_much)
{
	size_t size;
	int status = 0;
	assert_int_equal(finish(write_on, 0, 1 << 16, &size, &status), -SW_E_LIMIT);
	assert_int_equal(finish(answer, 0, 3, &size, &status), -SW_E_LIMIT);
}
