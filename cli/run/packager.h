/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_PACKAGER_H
#define SW_CLI_PACKAGER_H

#include "text.h"

#include <snapwalk/error.h>

#include <stdbool.h>
#include <stdint.h>

enum { SW_PACKAGER_DIRECTORY_BYTES = 128, SW_PACKAGER_WHY_BYTES = 256 };

/* The answer of the child to one question. */
struct sw_packager_reply {
	char answer;
	char directory[SW_PACKAGER_DIRECTORY_BYTES]; /* that files are unpacked into; a string */
	char why[SW_PACKAGER_WHY_BYTES];             /* why not; a string */
};

/*
 * Debug files out of the packages in directories of --from. A child waits for the first question: it looks for packages
 * then, makes a temporary directory, and has a child of its own unpack them, which has no privilege and can write to this
 * directory alone. The first one kills the second one at the deadline, and removes the directory when the command has
 * ended.
 */
struct sw_packager {
	int fd; /* to the children; -EBADF: there are none, or no more */
	int64_t deadline_ns;
	struct sw_text expected; /* owned; build-ids that are not said yet, each with its NUL */
	bool is_late;            /* they did not answer in time */
	bool is_unsupported;     /* there are packages, but nothing that unpacks them: why */
	struct sw_packager_reply last;
};

/*
 * Starts the first child, before privileges are given up.
 *
 * @param directories  Borrowed for this call.
 * @param deadline_ns  CLOCK_MONOTONIC: then both have ended. 0: never.
 * @return 0; -SW_E_IO.
 */
int sw_packager_start(struct sw_packager *ret, const char *const *directories, size_t n,
		      int64_t deadline_ns, struct sw_error *err);
/* For struct sw_finder_options. arg: a struct sw_packager. */
const char *sw_packager_unpack(void *arg, const char *build_id);
void sw_packager_expect(void *arg, const char *build_id);
void sw_packager_end(struct sw_packager *packager);

#endif
