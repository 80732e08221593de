/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files and directories that an expendable process reads: those of this process, some of which do not answer. */
#include <snapwalk/listing.h>
#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <snapwalk/clock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int proc_fd;
static struct sw_listing *listing;

static void begin(void)
{
	proc_fd = open("/proc/self", O_PATH | O_CLOEXEC);
	assert_true(proc_fd >= 0);
	assert_int_equal(sw_listing_create(proc_fd, &listing, NULL), 0);
}

static void end(void)
{
	sw_listing_destroy(listing);
	assert_int_equal(close(proc_fd), 0);
}

TEST(test_file)
{
	const char *text;
	char name[32], wanted[64];
	begin();
	assert_int_equal(sw_listing_read(listing, "comm", &text, NULL), 0);
	FILE *file = fopen("/proc/self/comm", "r");
	assert_non_null(file);
	assert_non_null(fgets(wanted, sizeof(wanted), file));
	assert_int_equal(fclose(file), 0);
	assert_string_equal(text, wanted);
	/* Descriptors of this process, which the one that reads does not have. */
	int fd = open("/dev/null", O_RDONLY);
	(void) snprintf(name, sizeof(name), "fdinfo/%d", fd);
	assert_int_equal(sw_listing_read(listing, name, &text, NULL), 0);
	assert_int_equal(strncmp(text, "pos:\t0\n", strlen("pos:\t0\n")), 0);
	assert_int_equal(close(fd), 0);
	assert_int_equal(sw_listing_read(listing, name, &text, NULL), -SW_E_NOT_FOUND);
	end();
}

/* More than the first buffer has space for. */
TEST(test_large_file)
{
	enum { MAPPINGS = 3000 };
	const char *text;
	size_t lines = 0, page = (size_t) sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, MAPPINGS * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(memory != MAP_FAILED);
	for (size_t i = 0; i < MAPPINGS; i += 2)
		assert_int_equal(mprotect(memory + i * page, page, PROT_READ | PROT_WRITE), 0);
	begin();
	assert_int_equal(sw_listing_read(listing, "maps", &text, NULL), 0);
	assert_true(strlen(text) > 100000);
	for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
		lines++;
	assert_true(lines >= MAPPINGS);
	assert_int_equal(text[strlen(text) - 1], '\n');
	end();
	assert_int_equal(munmap(memory, MAPPINGS * page), 0);
}

struct names {
	uint64_t wanted;
	size_t n, n_found;
};

static void name_look(void *arg, const char *name, uint64_t inode)
{
	struct names *names = arg;
	names->n++;
	names->n_found += strcmp(name, "a-name-0") == 0 && inode == names->wanted;
}

TEST(test_names)
{
	enum { FILES = 4000 };
	char directory[] = "/tmp/test_listing-XXXXXX", path[64];
	struct stat st;
	struct names names = {0};
	assert_non_null(mkdtemp(directory));
	begin();
	for (int i = 0; i < FILES; i++) {
		(void) snprintf(path, sizeof(path), "%s/a-name-%d", directory, i);
		int fd = open(path, O_CREAT | O_WRONLY, 0600);
		assert_true(fd >= 0);
		if (i == 0) {
			assert_int_equal(fstat(fd, &st), 0);
			names.wanted = st.st_ino;
		}
		assert_int_equal(close(fd), 0);
	}
	assert_int_equal(sw_listing_names(listing, directory + 1, name_look, &names, NULL), 0);
	assert_int_equal(names.n, FILES + 2);
	assert_int_equal(names.n_found, 1);
	for (int i = 0; i < FILES; i++) {
		(void) snprintf(path, sizeof(path), "%s/a-name-%d", directory, i);
		assert_int_equal(unlink(path), 0);
	}
	assert_int_equal(rmdir(directory), 0);
	assert_int_equal(sw_listing_names(listing, directory + 1, name_look, &names, NULL),
			 -SW_E_NOT_FOUND);
	end();
}

/* A FIFO that nobody writes to does not answer, and after it nothing is asked any more. */
TEST(test_no_answer)
{
	char directory[] = "/tmp/test_listing-XXXXXX", path[64], name[80];
	const char *text;
	assert_non_null(mkdtemp(directory));
	(void) snprintf(path, sizeof(path), "%s/fifo", directory);
	assert_int_equal(mkfifo(path, 0600), 0);
	begin();
	(void) snprintf(name, sizeof(name), "root%s", path);
	int64_t begin_ns = sw_clock_ns();
	assert_int_equal(sw_listing_read(listing, name, &text, NULL), -SW_E_TIMEOUT);
	assert_true(sw_clock_ns() - begin_ns >= 1000000000);
	begin_ns = sw_clock_ns();
	assert_int_equal(sw_listing_read(listing, "comm", &text, NULL), -SW_E_TIMEOUT);
	assert_true(sw_clock_ns() - begin_ns < 1000000000);
	end();
	assert_true(unlink(path) == 0 && rmdir(directory) == 0);
}
