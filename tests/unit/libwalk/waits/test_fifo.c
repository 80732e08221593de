/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The holders of the ends of a FIFO: our own ones, as /proc says it. */
#include "waits/fifo.h"
#include "test.h"

#include <sys/stat.h>

static const int64_t ENOUGH_NS = INT64_C(60000000000); /* for all processes of a busy machine */

struct world {
	char directory[32], path[48], other[48];
	int proc_fd, reader, writer;
	struct sw_fifo fifo;
};

static void world_begin(struct world *w)
{
	*w = (struct world){.directory = "/tmp/snapwalk.XXXXXX", .writer = -1};
	assert_non_null(mkdtemp(w->directory));
	(void) snprintf(w->path, sizeof(w->path), "%s/one", w->directory);      /* fits */
	(void) snprintf(w->other, sizeof(w->other), "%s/linked", w->directory); /* fits */
	assert_int_equal(mkfifo(w->path, 0600), 0);
	assert_int_equal(link(w->path, w->other), 0);
	w->proc_fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	w->reader = open(w->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(w->reader >= 0);
	assert_true(sw_fifo_of(w->proc_fd, w->reader, &w->fifo));
}

static void world_end(struct world *w)
{
	close(w->proc_fd);
	close(w->reader);
	if (w->writer >= 0)
		close(w->writer);
	(void) unlink(w->path);
	(void) unlink(w->other);
	(void) rmdir(w->directory);
}

static struct sw_fifo_ends ends(const struct world *w, bool written)
{
	const struct sw_budget budget = sw_budget_begin(ENOUGH_NS, ENOUGH_NS);
	return sw_fifo_ends_find(&w->fifo, w->path, written, &budget);
}

/* By any of its names, and only for what it is open. */
TEST(each_end)
{
	struct world w;
	world_begin(&w);
	struct stat st;
	assert_int_equal(fstat(w.reader, &st), 0);
	assert_int_equal(w.fifo.inode, st.st_ino);
	assert_int_equal(ends(&w, true).distinct, 0);
	assert_int_equal(ends(&w, false).distinct, 1);
	assert_int_equal(ends(&w, false).owner, getpid());
	w.writer = open(w.other, O_WRONLY | O_CLOEXEC);
	assert_true(w.writer >= 0);
	assert_int_equal(ends(&w, true).distinct, 1);
	assert_int_equal(ends(&w, true).owner, getpid());
	assert_false(ends(&w, true).cut);
	world_end(&w);
}

/* O_PATH has no end; another file with the number of this inode elsewhere has none, either. */
TEST(what_has_no_end)
{
	struct world w;
	world_begin(&w);
	w.writer = open(w.path, O_PATH | O_CLOEXEC);
	assert_true(w.writer >= 0);
	w.fifo.dev_minor++;
	assert_int_equal(ends(&w, false).distinct, 0);
	w.fifo.dev_minor--;
	assert_int_equal(ends(&w, false).distinct, 1);
	close(w.reader);
	w.reader = -1;
	assert_int_equal(ends(&w, false).distinct, 0);
	world_end(&w);
}

TEST(no_time)
{
	struct world w;
	world_begin(&w);
	const struct sw_budget spent = {0};
	const struct sw_fifo_ends found = sw_fifo_ends_find(&w.fifo, w.path, false, &spent);
	assert_true(found.cut && !found.complete);
	world_end(&w);
}

TEST(what_is_no_fifo)
{
	struct sw_fifo fifo;
	struct world w;
	int ends_of_pipe[2];
	world_begin(&w);
	assert_int_equal(pipe2(ends_of_pipe, O_CLOEXEC), 0);
	assert_false(
		sw_fifo_of(w.proc_fd, ends_of_pipe[0], &fifo)); /* no file system that is mounted */
	assert_false(sw_fifo_of(w.proc_fd, w.proc_fd, &fifo));
	assert_false(sw_fifo_of(w.proc_fd, 100000, &fifo));
	close(ends_of_pipe[0]);
	close(ends_of_pipe[1]);
	world_end(&w);
}

TEST(information)
{
	struct sw_fd_info info;
	assert_true(sw_fd_info_parse("pos:\t0\nflags:\t02100001\nmnt_id:\t27\nino:\t11732251\n",
				     &info));
	assert_int_equal(info.flags, 02100001);
	assert_int_equal(info.mount, 27);
	assert_int_equal(info.inode, 11732251);
	assert_false(sw_fd_info_parse("pos:\t0\nflags:\t02100001\nmnt_id:\t27\n", &info));
	assert_false(sw_fd_info_parse("", &info));
}
