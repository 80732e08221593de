/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Files of packages, read by libarchive. Sources: deb(5) of dpkg 1.21.22; rpm-package-format(5) of rpm 4.18.
 */
#include "archives/visit.h"
#include "cleanup.h"
#include "errors.h"

#include <snapwalk/clock.h>

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK_BYTES = 1 << 16, MAGIC_BYTES = 8 };

struct visit {
	const struct sw_archive_library *lib;
	const struct sw_archive_visitor *visitor;
	struct sw_archive_limits left; /* what may still come */
	struct sw_error *err;
};

/* The archive in a .deb: what libarchive reads of the outer one becomes the bytes of the inner one. */
struct inner {
	struct visit *visit;
	struct archive *outer; /* borrowed */
	uint8_t block[BLOCK_BYTES];
};

static bool is_late(int64_t deadline_ns)
{
	return deadline_ns != 0 && sw_clock_ns() > deadline_ns;
}

ssize_t sw_archive_file_read(struct sw_archive_file *file, void *buffer, size_t size)
{
	if (is_late(file->deadline_ns))
		return -1;
	if (size > file->left)
		size = (size_t) file->left;
	if (size == 0)
		return 0;
	ssize_t n = file->lib->archive_read_data(file->archive, buffer, size);
	if (n < 0 || (size_t) n > size)
		return -1;
	file->left -= (uint64_t) n;
	return n;
}

static int fail_late(const struct visit *v)
{
	return sw_fail(v->err, SW_E_TIMEOUT, "it was not read in time");
}

static int fail_read(const struct visit *v, struct archive *a)
{
	if (is_late(v->left.deadline_ns))
		return fail_late(v);
	const char *why = v->lib->archive_error_string(a);
	return sw_fail(v->err, SW_E_FORMAT, "it is broken: %s", why != NULL ? why : "no reason");
}

/* Whether there is a next entry. A warning is of names that no character set has, and the like. */
static bool is_there(int result)
{
	return result == SW_ARCHIVE_OK || result == SW_ARCHIVE_WARN;
}

/* Takes the size of an entry from what may still come: passing over an entry unpacks it, too. */
static int entry_count(struct visit *v, int64_t size)
{
	if (is_late(v->left.deadline_ns))
		return fail_late(v);
	if (v->left.files == 0)
		return sw_fail(v->err, SW_E_LIMIT, "it has too many files");
	if (size < 0 || (uint64_t) size > v->left.bytes)
		return sw_fail(v->err, SW_E_LIMIT, "its files are too large");
	v->left.files--;
	v->left.bytes -= (uint64_t) size;
	return 0;
}

/* The files of an archive that is open. */
static int files_visit(struct visit *v, struct archive *a)
{
	struct archive_entry *entry;
	int got, r = 0;
	while (is_there(got = v->lib->archive_read_next_header(a, &entry))) {
		int64_t size = v->lib->archive_entry_size(entry);
		r = entry_count(v, size);
		if (r < 0)
			return r;
		if (v->lib->archive_entry_filetype(entry) != S_IFREG)
			continue;
		struct sw_archive_file file = {.lib = v->lib,
					       .archive = a,
					       .left = (uint64_t) size,
					       .deadline_ns = v->left.deadline_ns};
		if (!v->visitor->file(v->visitor->arg, &file))
			return 0;
	}
	return got == SW_ARCHIVE_EOF ? 0 : fail_read(v, a);
}

/* NULL: there is no memory. */
static struct archive *archive_begin(const struct sw_archive_library *lib, bool is_rpm)
{
	struct archive *a = lib->archive_read_new();
	if (a == NULL)
		return NULL;
	/* These calls fail for want of memory alone; then the archive has a format that nobody knows. */
	(void) lib->archive_read_support_filter_gzip(a);
	(void) lib->archive_read_support_filter_xz(a);
	(void) lib->archive_read_support_filter_lzma(a);
	(void) lib->archive_read_support_filter_zstd(a);
	(void) lib->archive_read_support_filter_bzip2(a);
	if (is_rpm) {
		(void) lib->archive_read_support_filter_rpm(a);
		(void) lib->archive_read_support_format_cpio(a);
	} else {
		(void) lib->archive_read_support_format_tar(a);
	}
	return a;
}

static int rpm_visit(struct visit *v, int fd)
{
	struct archive *a = archive_begin(v->lib, true);
	if (a == NULL)
		return sw_fail_nomem(v->err);
	int r = v->lib->archive_read_open_fd(a, fd, BLOCK_BYTES) == SW_ARCHIVE_OK
			? files_visit(v, a)
			: fail_read(v, a);
	(void) v->lib->archive_read_free(a); /* was read */
	return r;
}

static int nothing(struct archive *a, void *arg)
{
	(void) a, (void) arg;
	return SW_ARCHIVE_OK;
}

static ssize_t inner_read(struct archive *a, void *arg, const void **ret)
{
	struct inner *inner = arg;
	(void) a;
	*ret = inner->block;
	if (is_late(inner->visit->left.deadline_ns))
		return -1;
	return inner->visit->lib->archive_read_data(inner->outer, inner->block,
						    sizeof(inner->block));
}

static int inner_visit(struct visit *v, struct archive *outer)
{
	sw_cleanup(sw_free_p) struct inner *inner = malloc(sizeof(*inner));
	struct archive *a = archive_begin(v->lib, false);
	int r = -SW_E_NOMEM;
	if (inner == NULL || a == NULL) {
		(void) sw_fail_nomem(v->err);
	} else {
		inner->visit = v;
		inner->outer = outer;
		r = v->lib->archive_read_open(a, inner, nothing, inner_read, nothing) ==
				    SW_ARCHIVE_OK
			    ? files_visit(v, a)
			    : fail_read(v, a);
	}
	if (a != NULL)
		(void) v->lib->archive_read_free(a); /* was read */
	return r;
}

/* The part of the package that has its files: "data.tar" and what says how it is packed. */
static int deb_parts_visit(struct visit *v, struct archive *outer)
{
	static const char wanted[] = "data.tar";
	struct archive_entry *entry;
	int got;
	while (is_there(got = v->lib->archive_read_next_header(outer, &entry))) {
		const char *name = v->lib->archive_entry_pathname(entry);
		if (name != NULL && strncmp(name, wanted, sizeof(wanted) - 1) == 0)
			return inner_visit(v, outer);
		int r = entry_count(v, v->lib->archive_entry_size(entry));
		if (r < 0)
			return r;
	}
	return got == SW_ARCHIVE_EOF ? sw_fail(v->err, SW_E_FORMAT, "it has no files")
				     : fail_read(v, outer);
}

static int deb_visit(struct visit *v, int fd)
{
	struct archive *outer = v->lib->archive_read_new();
	if (outer == NULL)
		return sw_fail_nomem(v->err);
	(void) v->lib->archive_read_support_format_ar(outer); /* fails as archive_begin() says */
	int r = v->lib->archive_read_open_fd(outer, fd, BLOCK_BYTES) == SW_ARCHIVE_OK
			? deb_parts_visit(v, outer)
			: fail_read(v, outer);
	(void) v->lib->archive_read_free(outer); /* was read */
	return r;
}

int sw_archive_visit(const struct sw_archive_library *lib, int fd,
		     const struct sw_archive_limits *limits,
		     const struct sw_archive_visitor *visitor, struct sw_error *err)
{
	static const uint8_t deb[MAGIC_BYTES] = "!<arch>\n", rpm[] = {0xed, 0xab, 0xee, 0xdb};
	uint8_t magic[MAGIC_BYTES] = {0};
	struct visit v = {.lib = lib, .visitor = visitor, .left = *limits, .err = err};
	ssize_t n = pread(fd, magic, sizeof(magic), 0);
	if (n == sizeof(magic) && memcmp(magic, deb, sizeof(deb)) == 0)
		return deb_visit(&v, fd);
	if (n == sizeof(magic) && memcmp(magic, rpm, sizeof(rpm)) == 0)
		return rpm_visit(&v, fd);
	return sw_fail(err, SW_E_FORMAT, "it is no package of Debian or RPM");
}
