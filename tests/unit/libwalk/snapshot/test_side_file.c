/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "snapshot/side_file.h"
#include "capture/space.h"
#include "cleanup.h"
#include "fake.h"
#include "snapshot/snapshot.h"
#include "test.h"

#include <sys/stat.h>

struct fixture {
	char dir[64];
	struct sw_snapshot *snap;
	struct sw_capture_space space;
	struct sw_capture capture;
	int proc_fd;
	int live_fd; /* a directory with "root" in it, as /proc/PID/task/TID is one */
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	char path[80];
	*state = f;
	if (f == NULL)
		return -1;
	strcpy(f->dir, "/tmp/test_side_file.XXXXXX");
	if (mkdtemp(f->dir) == NULL)
		return -1;
	(void) snprintf(path, sizeof(path), "%s/root", f->dir);
	if (mkdir(path, 0700) < 0)
		return -1;
	f->snap = fake_snapshot_create();
	f->live_fd = open(f->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct sw_pages *pages = &f->snap->priv->pages;
	pages->live_fd = f->live_fd;
	pages->arena = &f->snap->priv->arena;
	f->proc_fd = pages->proc_fd = open("/proc/self", O_PATH | O_CLOEXEC);
	f->space = (struct sw_capture_space){.snap = f->snap, .proc_fd = f->proc_fd};
	f->capture = sw_capture_of(&f->space);
	return 0;
}

static int teardown(void **state)
{
	static const char *const names[] = {"root/file", "root/link", "root/out", "root/fifo"};
	struct fixture *f = *state;
	for (size_t i = 0; i < SW_ARRAY_SIZE(names); i++)
		(void) unlinkat(f->live_fd, names[i], 0); /* most are not there */
	(void) unlinkat(f->live_fd, "root", AT_REMOVEDIR);
	(void) close(f->live_fd);
	(void) close(f->proc_fd);
	int left = rmdir(f->dir);
	fake_snapshot_destroy(f->snap);
	free(f);
	return left;
}

static void write_file(struct fixture *f, const char *name, const char *text)
{
	sw_cleanup(sw_close_p) int fd =
		openat(f->live_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void text_is(struct sw_bytes bytes, const char *text)
{
	assert_int_equal(bytes.size, strlen(text));
	assert_memory_equal(bytes.data, text, bytes.size);
}

/* Opened before, read after: what was added in between counts. */
TEST_OF(test_read_late, struct fixture *f)
{
	struct sw_bytes bytes;
	const char *name;
	write_file(f, "root/file", "old");
	int fd = sw_capture_open(&f->capture, "/file");
	assert_true(fd >= 0);
	assert_int_equal(sw_side_file_keep(f->snap, "perf-map", fd), 0);
	write_file(f, "root/file", "old and new");
	assert_int_equal(sw_side_file_size(f->snap, "perf-map", 0), 11);
	assert_int_equal(sw_side_file_size(f->snap, "perf-map", 1), 0);
	write_file(f, "root/file", "old"); /* its size was asked, not its bytes */
	assert_int_equal(sw_side_file_size(f->snap, "perf-map", 0), 3);
	write_file(f, "root/file", "old and new");
	assert_true(sw_side_file_get(f->snap, "perf-map", 0, &bytes));
	text_is(bytes, "old and new");
	write_file(f, "root/file", "newer");
	assert_int_equal(sw_side_file_size(f->snap, "perf-map", 0), 11);
	assert_true(sw_side_file_get(f->snap, "perf-map", 0, &bytes));
	text_is(bytes, "old and new"); /* read once */
	assert_false(sw_side_file_get(f->snap, "perf-map", 1, &bytes));
	assert_false(sw_side_file_get(f->snap, "other", 0, &bytes));
	assert_true(sw_side_file_at(f->snap, 0, &name, &bytes));
	assert_string_equal(name, "perf-map");
	assert_false(sw_side_file_at(f->snap, 1, &name, &bytes));
}

TEST_OF(test_empty, struct fixture *f)
{
	struct sw_bytes bytes;
	write_file(f, "root/file", "");
	assert_int_equal(sw_side_file_keep(f->snap, "a", sw_capture_open(&f->capture, "file")), 0);
	assert_false(sw_side_file_get(f->snap, "a", 0, &bytes));
}

/* The target chose what is there: no link as the last name, nothing outside its root, no fifo. */
TEST_OF(test_not_opened, struct fixture *f)
{
	write_file(f, "root/file", "x");
	assert_int_equal(symlinkat("file", f->live_fd, "root/link"), 0);
	assert_int_equal(symlinkat("/etc", f->live_fd, "root/out"), 0);
	assert_int_equal(mkfifoat(f->live_fd, "root/fifo", 0600), 0);
	assert_int_equal(sw_capture_open(&f->capture, "/link"), -1);
	assert_int_equal(sw_capture_open(&f->capture, "/out/passwd"), -1);
	assert_int_equal(sw_capture_open(&f->capture, "/../etc/passwd"), -1);
	assert_int_equal(sw_capture_open(&f->capture, "/fifo"), -1);
	assert_int_equal(sw_capture_open(&f->capture, "/none"), -1);
}

TEST_OF(test_not_kept, struct fixture *f)
{
	assert_int_equal(sw_side_file_keep(f->snap, "a", -1), -SW_E_FORMAT);
	assert_int_equal(sw_side_file_keep(f->snap, "a", dup(f->live_fd)), -SW_E_FORMAT);
	write_file(f, "root/file", "x");
	for (int i = 0; i <= SW_SIDE_FILES_MAX; i++)
		assert_int_equal(sw_side_file_keep(f->snap, "a",
						   sw_capture_open(&f->capture, "/file")),
				 i < SW_SIDE_FILES_MAX ? 0 : -SW_E_LIMIT);
	assert_string_equal(sw_snapshot_limit(f->snap, 0),
			    "files beside the process after the 256th, of which names come, were "
			    "left out");
}

TEST_OF(test_all_kept, struct fixture *f)
{
	write_file(f, "root/file", "x");
	for (int i = 0; i < SW_SIDE_FILES_MAX; i++)
		assert_int_equal(sw_side_file_keep(f->snap, "a",
						   sw_capture_open(&f->capture, "/file")),
				 0);
	assert_null(sw_snapshot_limit(f->snap, 0));
}

TEST_OF(test_refused, struct fixture *f)
{
	assert_null(sw_side_file_refused(f->snap, "perf-map"));
	sw_side_file_refuse(f->snap, "perf-map", "why");
	assert_string_equal(sw_side_file_refused(f->snap, "perf-map"), "why");
	assert_null(sw_side_file_refused(f->snap, "other"));
}

/* The first or the last bytes of a file that is longer. */
TEST_OF(test_cut, struct fixture *f)
{
	struct sw_file_copy copy;
	write_file(f, "root/file", "0123456789");
	sw_cleanup(sw_close_p) int fd = sw_capture_open(&f->capture, "/file");
	sw_file_copy_make(fd, 4, false, &copy);
	text_is(copy.bytes, "0123");
	assert_true(copy.cut);
	sw_file_copy_free(&copy);
	sw_file_copy_make(fd, 4, true, &copy);
	text_is(copy.bytes, "6789");
	sw_file_copy_free(&copy);
	sw_file_copy_make(fd, 10, true, &copy);
	text_is(copy.bytes, "0123456789");
	assert_false(copy.cut);
	sw_file_copy_free(&copy);
}
