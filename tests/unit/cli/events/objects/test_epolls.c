/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Files that sets watch are paired by the events of a process that is this one: what the kernel lists of it is the check in the end.
 * There is no program that shows files: a set is known by its descriptor here.
 */
#include "events/objects/epolls.h"
#include "held_case.h"

#include <snapwalk/clock.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

enum { ROW = 4 };

static const struct sw_held_kind *const of = &sw_held_epolls;
static int set;

static int file_new(void)
{
	int fd = eventfd(0, EFD_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static void add(int fd)
{
	struct epoll_event event = {.events = EPOLLIN};
	assert_int_equal(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event), 0);
}

static void take_out(int fd)
{
	assert_int_equal(epoll_ctl(set, EPOLL_CTL_DEL, fd, NULL), 0);
}

static void set_begin(void)
{
	set = epoll_create1(EPOLL_CLOEXEC);
	assert_true(set >= 0);
}

static void begin(void)
{
	begin_of(of, getpid());
}

static void finish(void)
{
	assert_int_equal(sw_held_check(held, NULL), 0);
	finish_run();
}

static void finished(void)
{
	end();
	(void) close(set); /* or it is closed already */
}

/* As the kernel has it: any address that is the file's alone. */
static uint64_t address(int fd)
{
	return 0xffff888000000000 + (uint64_t) fd * 256;
}

static void tell_of(enum sw_event_kind kind, int fd, uint64_t set_file, uint64_t file,
		    int64_t time_ns)
{
	const struct sw_event event = {.number = number++,
				       .time_ns = time_ns,
				       .kind = kind,
				       .n_handles = 1,
				       .handles = {{.number = (uint32_t) fd,
						    .set = (uint32_t) set,
						    .inode = set_file,
						    .file = file}}};
	assert_int_equal(of->event(held, &event,
				   kind == SW_EVENT_ACQUIRED ? ROW : SW_RECORDER_NO_ROW, NULL),
			 0);
}

static void tell(enum sw_event_kind kind, int fd)
{
	tell_of(kind, fd, address(set), address(fd), sw_clock_ns());
}

/* shared: 0 if it is closed for good. */
static void tell_closed_of(int fd, uint32_t shared)
{
	const struct sw_event event = {
		.number = number++,
		.time_ns = sw_clock_ns(),
		.kind = SW_EVENT_RELEASED,
		.n_handles = 1,
		.handles = {{.number = (uint32_t) fd, .set = shared, .file = address(fd)}}};
	assert_int_equal(of->event(held, &event, SW_RECORDER_NO_ROW, NULL), 0);
}

static void tell_closed(int fd)
{
	tell_closed_of(fd, 0);
}

static void figures(uint64_t before, uint64_t before_released, uint64_t unknown, uint64_t unseen)
{
	assert_int_equal(held->before, before);
	assert_int_equal(held->before_released, before_released);
	assert_int_equal(held->unknown_origin, unknown);
	assert_int_equal(held->closed_unseen, unseen);
}

static void row(uint64_t acquired, uint64_t given_up, uint64_t outstanding)
{
	assert_int_equal(row_of(ROW)->acquired, acquired);
	assert_int_equal(row_of(ROW)->released, given_up);
	assert_int_equal(row_of(ROW)->outstanding, outstanding);
}

static void all_close(const int *fds, int n)
{
	for (int i = 0; i < n; i++)
		assert_int_equal(close(fds[i]), 0);
}

TEST(test_pairs)
{
	int old[2] = {file_new(), file_new()}, fds[3];
	set_begin();
	add(old[0]);
	add(old[1]);
	begin();
	for (int i = 0; i < 3; i++) {
		add(fds[i] = file_new());
		tell(SW_EVENT_ACQUIRED, fds[i]);
	}
	take_out(fds[1]);
	tell(SW_EVENT_RELEASED, fds[1]);
	take_out(old[0]);
	tell(SW_EVENT_RELEASED, old[0]);
	tell(SW_EVENT_RELEASED, old[0]); /* which is none any more */
	finish();
	row(3, 1, 2);
	assert_int_equal(held->n_there, 3);
	figures(1, 1, 0, 0);
	all_close(fds, 3);
	all_close(old, 2);
	finished();
}

/* More than there are buckets in the beginning, in one set. */
TEST(test_many)
{
	enum { MANY = 600 };
	static int fds[MANY];
	set_begin();
	begin();
	for (int i = 0; i < MANY; i++) {
		add(fds[i] = file_new());
		tell(SW_EVENT_ACQUIRED, fds[i]);
	}
	for (int i = 0; i < MANY; i += 3) {
		tell_closed(fds[i]);
		assert_int_equal(close(fds[i]), 0);
	}
	finish();
	row(MANY, MANY / 3, MANY - MANY / 3);
	assert_int_equal(held->n_there, MANY - MANY / 3);
	figures(0, 0, 0, 0);
	for (int i = 0; i < MANY; i++)
		if (i % 3 != 0)
			assert_int_equal(close(fds[i]), 0);
	finished();
}

/* A file that goes on by another descriptor is watched beside the next one of the same number. */
TEST(test_same_number)
{
	set_begin();
	begin();
	int fd = file_new(), copy = dup(fd);
	add(fd);
	tell_of(SW_EVENT_ACQUIRED, fd, address(set), 0x1000, sw_clock_ns());
	assert_int_equal(close(fd), 0);
	assert_int_equal(file_new(), fd);
	add(fd);
	tell_of(SW_EVENT_ACQUIRED, fd, address(set), 0x2000, sw_clock_ns());
	finish();
	row(2, 0, 2);
	assert_int_equal(held->n_there, 2);
	figures(0, 0, 0, 0);
	all_close((const int[]){fd, copy}, 2);
	finished();
}

/* The same file and number: nobody saw how the first one went. */
TEST(test_same_file)
{
	set_begin();
	begin();
	int fd = file_new();
	add(fd);
	tell(SW_EVENT_ACQUIRED, fd);
	tell(SW_EVENT_ACQUIRED, fd);
	finish();
	row(2, 1, 1);
	figures(0, 0, 0, 0);
	all_close(&fd, 1);
	finished();
}

TEST(test_set_closed)
{
	int old = file_new(), fd = file_new();
	set_begin();
	add(old);
	begin();
	add(fd);
	tell(SW_EVENT_ACQUIRED, fd);
	tell_closed(set);
	assert_int_equal(close(set), 0);
	finish();
	row(1, 1, 0);
	assert_int_equal(held->n_there, 0);
	figures(0, 1, 0, 0);
	all_close((const int[]){old, fd}, 2);
	finished();
}

/* Something else had the file while its descriptor was closed: the list says whether it is watched still. */
TEST(test_closed_and_shared)
{
	int old = file_new(), fds[2] = {file_new(), file_new()};
	set_begin();
	add(old);
	begin();
	for (int i = 0; i < 2; i++) {
		add(fds[i]);
		tell(SW_EVENT_ACQUIRED, fds[i]);
	}
	int copy = dup(fds[0]);
	tell_closed_of(fds[0], 1);
	tell_closed_of(fds[1], 1);
	all_close(fds, 2);
	finish();
	row(2, 1, 1);
	assert_int_equal(held->n_there, 2);
	figures(1, 0, 0, 0);
	all_close((const int[]){old, copy}, 2);
	finished();
}

/* Another thread has closed the file before the call that added it has returned. */
TEST(test_closed_first)
{
	set_begin();
	begin();
	tell_of(SW_EVENT_ACQUIRED, 5, address(set), 0, sw_clock_ns());
	tell_of(SW_EVENT_ACQUIRED, 5, 0, address(5), sw_clock_ns());
	finish();
	row(2, 2, 0);
	figures(0, 0, 0, 0);
	finished();
}

/* A file that was listed before, and whose adding is an event, was not there before. */
TEST(test_listed_and_added)
{
	int fd = file_new();
	set_begin();
	add(fd);
	begin();
	tell_of(SW_EVENT_ACQUIRED, fd, address(set), address(fd), held->listed_ns);
	finish();
	row(1, 0, 1);
	figures(0, 0, 0, 0);
	all_close(&fd, 1);
	finished();
}

TEST(test_what_nobody_saw)
{
	set_begin();
	begin();
	int fd = file_new(), other = file_new();
	add(fd);
	tell(SW_EVENT_ACQUIRED, other);
	finish();
	row(1, 0, 0);
	assert_int_equal(row_of(ROW)->unseen, 1);
	figures(0, 0, 1, 1);
	all_close((const int[]){fd, other}, 2);
	finished();
}

/* Files that change after the list was begun are neither unknown nor unseen. */
TEST(test_after_the_check)
{
	int old = file_new(), seen = file_new();
	set_begin();
	add(old);
	begin();
	add(seen);
	tell(SW_EVENT_ACQUIRED, seen);
	assert_int_equal(sw_held_check(held, NULL), 0);
	int late = file_new(), shared = file_new();
	tell(SW_EVENT_ACQUIRED, late);
	tell(SW_EVENT_ACQUIRED, shared);
	tell_closed_of(shared, 1);
	tell(SW_EVENT_RELEASED, seen);
	tell(SW_EVENT_RELEASED, old);
	finish_run();
	assert_int_equal(held->n_there, 2);
	row(3, 2, 1);
	figures(0, 1, 0, 0);
	all_close((const int[]){old, seen, late, shared}, 4);
	finished();
}

/* After execve(2) those are left whose descriptor and set are open. */
TEST(test_program)
{
	uint8_t bits[8] = {0};
	int fds[2] = {file_new(), file_new()};
	set_begin();
	begin();
	for (int i = 0; i < 2; i++) {
		add(fds[i]);
		tell(SW_EVENT_ACQUIRED, fds[i]);
	}
	assert_true(set < 64 && fds[0] < 64 && fds[1] < 64);
	bits[set / 8] |= (uint8_t) (1 << set % 8);
	bits[fds[0] / 8] |= (uint8_t) (1 << fds[0] % 8);
	const struct sw_event event = {.kind = SW_EVENT_TABLE,
				       .time_ns = sw_clock_ns(),
				       .bytes = bits,
				       .bytes_size = sizeof(bits)};
	assert_int_equal(of->event(held, &event, SW_RECORDER_NO_ROW, NULL), 0);
	take_out(fds[1]);
	finish();
	row(2, 1, 1);
	figures(0, 0, 0, 0);
	all_close(fds, 2);
	finished();
}
