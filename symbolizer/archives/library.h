/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_ARCHIVES_LIBRARY_H
#define SW_ARCHIVES_LIBRARY_H

#include <snapwalk/error.h>

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* libarchive's own, of which nothing but pointers is known here. */
struct archive;
struct archive_entry;

typedef ssize_t sw_archive_read_callback(struct archive *a, void *arg, const void **ret);
typedef int sw_archive_end_callback(struct archive *a, void *arg);

/*
 * libarchive, loaded only when packages are to be read: linking it would make every start of the command pay for a dozen
 * more libraries. Its headers are not needed: these functions are as in archive.h and archive_entry.h of libarchive 3.6.2,
 * and have been so since 3.0 (2011).
 */
#define SW_ARCHIVE_FUNCTIONS(X)                                                             \
	X(archive_read_new, struct archive *, (void) )                                      \
	X(archive_read_free, int, (struct archive *) )                                      \
	X(archive_read_support_filter_bzip2, int, (struct archive *) )                      \
	X(archive_read_support_filter_gzip, int, (struct archive *) )                       \
	X(archive_read_support_filter_lzma, int, (struct archive *) )                       \
	X(archive_read_support_filter_rpm, int, (struct archive *) )                        \
	X(archive_read_support_filter_xz, int, (struct archive *) )                         \
	X(archive_read_support_filter_zstd, int, (struct archive *) )                       \
	X(archive_read_support_format_ar, int, (struct archive *) )                         \
	X(archive_read_support_format_cpio, int, (struct archive *) )                       \
	X(archive_read_support_format_tar, int, (struct archive *) )                        \
	X(archive_read_open_fd, int, (struct archive *, int, size_t))                       \
	X(archive_read_open, int,                                                           \
	  (struct archive *, void *, sw_archive_end_callback *, sw_archive_read_callback *, \
	   sw_archive_end_callback *) )                                                     \
	X(archive_read_next_header, int, (struct archive *, struct archive_entry **) )      \
	X(archive_read_data, ssize_t, (struct archive *, void *, size_t))                   \
	X(archive_error_string, const char *, (struct archive *) )                          \
	X(archive_entry_filetype, mode_t, (struct archive_entry *) )                        \
	X(archive_entry_size, int64_t, (struct archive_entry *) )                           \
	X(archive_entry_pathname, const char *, (struct archive_entry *) )

struct sw_archive_library {
#define SW_ARCHIVE_MEMBER(name, type, parameters) type(*name) parameters;
	SW_ARCHIVE_FUNCTIONS(SW_ARCHIVE_MEMBER)
#undef SW_ARCHIVE_MEMBER
};

/* Results of its functions: archive.h of 3.6.2. All others are failures. */
enum { SW_ARCHIVE_EOF = 1, SW_ARCHIVE_OK = 0, SW_ARCHIVE_WARN = -20 };

/* 0; -SW_E_UNSUPPORTED: it is not installed, or this is a static file. */
int sw_archive_library_load(struct sw_archive_library *ret, struct sw_error *err);

#endif
