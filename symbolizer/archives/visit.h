/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_ARCHIVES_VISIT_H
#define SW_ARCHIVES_VISIT_H

#include "archives/library.h"

#include <stdbool.h>

/* Limits for one package. */
struct sw_archive_limits {
	uint64_t bytes;      /* unpacked, of all its files */
	size_t files;        /* and all else that has a name */
	int64_t deadline_ns; /* CLOCK_MONOTONIC; 0: none */
};

/* A file of a package, while it is visited. */
struct sw_archive_file {
	const struct sw_archive_library *lib; /* borrowed */
	struct archive *archive;              /* borrowed */
	uint64_t left;                        /* bytes that may still be read of it */
	int64_t deadline_ns;
};

/* The next bytes of the file; 0: its end; -1: it is broken, or late. */
ssize_t sw_archive_file_read(struct sw_archive_file *file, void *buffer, size_t size);

struct sw_archive_visitor {
	/* Regular files alone; what it does not read is passed over. Names, links and permissions are not told: nothing
	 * that the package says decides where anything is written. False: the rest is not wanted. */
	bool (*file)(void *arg, struct sw_archive_file *file);
	void *arg;
};

/*
 * Visits the files of a package: of Debian (deb(5): an ar(1) with a data.tar.*) or RPM (a cpio(1) behind headers).
 *
 * @param fd  A regular file, at its begin. Borrowed.
 * @return 0; -SW_E_FORMAT: it is no package, or is broken from somewhere on; -SW_E_LIMIT: it has more than it may;
 * -SW_E_TIMEOUT; -SW_E_NOMEM. What was visited by then was whole.
 */
int sw_archive_visit(const struct sw_archive_library *lib, int fd,
		     const struct sw_archive_limits *limits,
		     const struct sw_archive_visitor *visitor, struct sw_error *err);

#endif
