/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Packages made here: an ar(1) with a tar(5) that is not compressed. */
#include "archives/visit.h"
#include "cleanup.h"
#include "test.h"

#include <snapwalk/clock.h>

#include <sys/mman.h>

enum { AR_HEADER = 60, TAR_BLOCK = 512, PACKAGE_BYTES = 1 << 16, SEEN_MAX = 8 };

struct package {
	uint8_t bytes[PACKAGE_BYTES];
	size_t size, tar_at;
};

static void put(struct package *p, const void *bytes, size_t n)
{
	assert_true(n <= sizeof(p->bytes) - p->size);
	memcpy(p->bytes + p->size, bytes, n);
	p->size += n;
}

/* ar(5): name, time, owner, group, mode, size. */
static void ar_header(uint8_t *to, const char *name, size_t size)
{
	char header[AR_HEADER + 1];
	(void) snprintf(header, sizeof(header), "%-16s%-12d%-6d%-6d%-8s%-10zu`\n", name, 0, 0, 0,
			"100644", size); /* fits */
	memcpy(to, header, AR_HEADER);
}

static void package_begin(struct package *p)
{
	uint8_t header[AR_HEADER];
	*p = (struct package){.size = 0};
	put(p, "!<arch>\n", 8);
	ar_header(header, "debian-binary", 4);
	put(p, header, sizeof(header));
	put(p, "2.0\n", 4);
	p->tar_at = p->size;
	p->size += AR_HEADER;
}

/* POSIX.1-1988 ustar. size: that the header says; of contents as much as is there. */
static void entry_put(struct package *p, const char *name, char type, uint64_t size,
		      const char *contents)
{
	uint8_t block[TAR_BLOCK] = {0};
	unsigned sum = 0;
	(void) snprintf((char *) block, 100, "%s", name);
	(void) snprintf((char *) block + 100, 8, "%07o", 0644);
	(void) snprintf((char *) block + 108, 8, "%07o", 0);
	(void) snprintf((char *) block + 116, 8, "%07o", 0);
	(void) snprintf((char *) block + 124, 12, "%011llo", (unsigned long long) size);
	(void) snprintf((char *) block + 136, 12, "%011o", 0);
	memset(block + 148, ' ', 8);
	block[156] = (uint8_t) type;
	if (type != '0')
		(void) snprintf((char *) block + 157, 100, "/etc/passwd");
	memcpy(block + 257, "ustar\00000", 8);
	for (size_t i = 0; i < sizeof(block); i++)
		sum += block[i];
	(void) snprintf((char *) block + 148, 8, "%06o", sum);
	put(p, block, sizeof(block));
	if (contents == NULL)
		return;
	memset(block, 0, sizeof(block));
	memcpy(block, contents, strlen(contents));
	put(p, block, sizeof(block));
}

static int package_end(struct package *p)
{
	static const uint8_t end[2 * TAR_BLOCK];
	put(p, end, sizeof(end));
	ar_header(p->bytes + p->tar_at, "data.tar", p->size - p->tar_at - AR_HEADER);
	int fd = memfd_create("package", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, p->bytes, p->size), p->size);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

struct seen {
	char contents[SEEN_MAX][TAR_BLOCK];
	size_t n, wanted;
};

static bool see(void *arg, struct sw_archive_file *file)
{
	struct seen *seen = arg;
	char *to = seen->contents[seen->n++];
	ssize_t n = sw_archive_file_read(file, to, TAR_BLOCK - 1);
	assert_true(n >= 0);
	to[n] = '\0';
	return seen->n < seen->wanted;
}

static int visit(int fd, const struct sw_archive_limits *limits, struct seen *seen,
		 struct sw_error *err)
{
	struct sw_archive_library lib;
	const struct sw_archive_visitor visitor = {see, seen};
	*err = (struct sw_error){0};
	if (sw_archive_library_load(&lib, err) < 0) {
		print_message("%s\n", err->message);
		(void) close(fd);
		skip(); /* package libarchive13 */
	}
	int r = sw_archive_visit(&lib, fd, limits, &visitor, err);
	assert_int_equal(close(fd), 0);
	return r;
}

static const struct sw_archive_limits enough = {.bytes = 1 << 20, .files = 100};

static int package_of_three(void)
{
	struct package p;
	package_begin(&p);
	entry_put(&p, "./first", '0', 3, "one");
	entry_put(&p, "./link", '2', 0, NULL);
	entry_put(&p, "../../../etc/second", '0', 5, "two 2");
	entry_put(&p, "./device", '3', 0, NULL);
	entry_put(&p, "./third", '0', 0, NULL);
	return package_end(&p);
}

TEST(test_files)
{
	struct seen seen = {.wanted = SEEN_MAX};
	struct sw_error err;
	assert_int_equal(visit(package_of_three(), &enough, &seen, &err), 0);
	assert_int_equal(seen.n, 3);
	assert_string_equal(seen.contents[0], "one");
	assert_string_equal(seen.contents[1], "two 2");
	assert_string_equal(seen.contents[2], "");
	seen = (struct seen){.wanted = 1};
	assert_int_equal(visit(package_of_three(), &enough, &seen, &err), 0);
	assert_int_equal(seen.n, 1);
}

/* debian-binary and the five entries are six, and have 12 bytes. */
TEST(test_limits)
{
	struct seen seen = {.wanted = SEEN_MAX};
	struct sw_error err;
	struct sw_archive_limits limits = {.bytes = 12, .files = 6};
	assert_int_equal(visit(package_of_three(), &limits, &seen, &err), 0);
	limits.files = 5;
	seen.n = 0;
	assert_int_equal(visit(package_of_three(), &limits, &seen, &err), -SW_E_LIMIT);
	assert_string_equal(err.message, "it has too many files");
	assert_int_equal(seen.n, 2);
	limits = (struct sw_archive_limits){.bytes = 11, .files = 6};
	seen.n = 0;
	assert_int_equal(visit(package_of_three(), &limits, &seen, &err), -SW_E_LIMIT);
	assert_string_equal(err.message, "its files are too large");
	assert_int_equal(seen.n, 1);
	limits = (struct sw_archive_limits){.bytes = 12, .files = 6, .deadline_ns = 1};
	seen.n = 0;
	assert_int_equal(visit(package_of_three(), &limits, &seen, &err), -SW_E_TIMEOUT);
	assert_int_equal(seen.n, 0);
}

/* A file says that it has 8 GiB, which would have to be unpacked to be passed over. */
TEST(test_large)
{
	struct package p;
	struct seen seen = {.wanted = SEEN_MAX};
	struct sw_error err;
	package_begin(&p);
	entry_put(&p, "./zeros", '0', UINT64_C(077777777777), "zeros");
	assert_int_equal(visit(package_end(&p), &enough, &seen, &err), -SW_E_LIMIT);
	assert_int_equal(seen.n, 0);
}

TEST(test_broken)
{
	struct package p;
	struct seen seen = {.wanted = SEEN_MAX};
	struct sw_error err;
	package_begin(&p);
	entry_put(&p, "./first", '0', 3, "one");
	entry_put(&p, "./cut", '0', 60000, "cut");
	assert_int_equal(visit(package_end(&p), &enough, &seen, &err), -SW_E_FORMAT);
	assert_int_equal(strncmp(err.message, "it is broken: ", 14), 0);
	assert_string_equal(seen.contents[0], "one");
	int fd = memfd_create("text", MFD_CLOEXEC);
	assert_int_equal(write(fd, "no package", 10), 10);
	assert_int_equal(visit(fd, &enough, &seen, &err), -SW_E_FORMAT);
	assert_string_equal(err.message, "it is no package of Debian or RPM");
}
