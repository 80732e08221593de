/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A pipe in place of the iterator: it gives records in the same way, in parts. */
#include "iterate/read.h"
#include "cleanup.h"
#include "test.h"

#include <snapwalk/error.h>

#include <signal.h>
#include <sys/time.h>

enum { RECORDS = 5 };

/* The reading end of a pipe with that many bytes of records with tids from 1 on. */
static int iterator(size_t bytes)
{
	struct sw_iterate_record records[RECORDS];
	memset(records, 0, sizeof(records));
	for (uint32_t i = 0; i < RECORDS; i++)
		records[i] = (struct sw_iterate_record){.tid = i + 1, .is_last = i + 1 == RECORDS};
	int fds[2];
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], records, bytes), (ssize_t) bytes);
	close(fds[1]);
	return fds[0];
}

TEST(whole)
{
	struct sw_iterate_record records[RECORDS + 1];
	struct sw_iterate_pass pass;
	sw_cleanup(sw_close_p) int fd = iterator(RECORDS * sizeof(records[0]));
	assert_int_equal(sw_iterate_read(fd, records, RECORDS + 1, &pass), 0);
	assert_int_equal(pass.n, RECORDS);
	assert_false(pass.overflow);
	assert_false(pass.cut);
	for (uint32_t i = 0; i < RECORDS; i++)
		assert_int_equal(records[i].tid, i + 1);
}

TEST(space)
{
	struct sw_iterate_record records[RECORDS];
	struct sw_iterate_pass pass;
	/* just enough */
	sw_cleanup(sw_close_p) int fits = iterator(RECORDS * sizeof(records[0]));
	assert_int_equal(sw_iterate_read(fits, records, RECORDS, &pass), 0);
	assert_int_equal(pass.n, RECORDS);
	assert_false(pass.overflow);
	/* one too many */
	sw_cleanup(sw_close_p) int too_many = iterator(RECORDS * sizeof(records[0]));
	memset(records, 0, sizeof(records));
	assert_int_equal(sw_iterate_read(too_many, records, RECORDS - 1, &pass), 0);
	assert_int_equal(pass.n, RECORDS - 1);
	assert_true(pass.overflow);
	assert_false(pass.cut);
	assert_int_equal(records[RECORDS - 1].tid, 0);
}

TEST(ended_early)
{
	struct sw_iterate_record records[RECORDS];
	struct sw_iterate_pass pass;
	sw_cleanup(sw_close_p) int fd = iterator((RECORDS - 1) * sizeof(records[0]));
	assert_int_equal(sw_iterate_read(fd, records, RECORDS, &pass), 0);
	assert_int_equal(pass.n, RECORDS - 1);
	assert_false(pass.overflow);
	assert_true(pass.cut);
}

TEST(nobody)
{
	struct sw_iterate_record record;
	struct sw_iterate_pass pass = {.n = 7, .overflow = true};
	sw_cleanup(sw_close_p) int fd = iterator(0);
	assert_int_equal(sw_iterate_read(fd, &record, 1, &pass), 0);
	assert_int_equal(pass.n, 0);
	assert_false(pass.overflow);
}

TEST(refused)
{
	struct sw_iterate_record records[RECORDS];
	struct sw_iterate_pass pass = {.n = 7};
	/* half a record: of another program */
	sw_cleanup(sw_close_p) int half = iterator(sizeof(records[0]) + 8);
	assert_int_equal(sw_iterate_read(half, records, RECORDS, &pass), -SW_E_INVALID);
	assert_int_equal(sw_iterate_read(-1, records, RECORDS, &pass), -SW_E_IO);
	assert_int_equal(errno, EBADF);
	assert_int_equal(pass.n, 7);
}

static int interrupted_pipe[2];

/* Writes what is waited for, and interrupts the wait. */
static void write_one(int number)
{
	const struct sw_iterate_record record = {.tid = 7, .is_last = 1};
	if (write(interrupted_pipe[1], &record, sizeof(record)) == sizeof(record))
		(void) close(interrupted_pipe[1]);
}

/* A signal of the caller's ends no pass. */
TEST(interrupted)
{
	const struct sigaction action = {.sa_handler = write_one}; /* without SA_RESTART */
	const struct itimerval soon = {.it_value = {.tv_usec = 10000}};
	struct sw_iterate_record records[2];
	struct sw_iterate_pass pass;
	struct sigaction before;
	assert_int_equal(pipe(interrupted_pipe), 0);
	assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
	assert_int_equal(sw_iterate_read(interrupted_pipe[0], records, 2, &pass), 0);
	assert_int_equal(pass.n, 1);
	assert_int_equal(records[0].tid, 7);
	assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
	assert_int_equal(close(interrupted_pipe[0]), 0);
}
