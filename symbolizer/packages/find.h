/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PACKAGES_FIND_H
#define SW_PACKAGES_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SW_PACKAGE_NAME_MAX = 128 };

/* A file whose Debian package is looked for. */
struct sw_package_want {
	const char *path;                /* absolute; borrowed. Not trusted */
	char guess[SW_PACKAGE_NAME_MAX]; /* by the file's name; "" when that is no package's */
	char name[SW_PACKAGE_NAME_MAX];  /* of the package that has it; "" when none was found */
};

/* Whether a package may have this file at all: programs that are not of the distribution lie elsewhere, as a rule. */
bool sw_package_may_have(const char *path);

/**
 * The packages that have these files.
 *
 * @param lists        Directory of dpkg's lists of files.
 * @param deadline_ns  CLOCK_MONOTONIC; 0: none. What is found by then is the result.
 */
void sw_packages_find(const char *lists, struct sw_package_want *wants, size_t n,
		      int64_t deadline_ns);

/* The package with the debug symbols of another one; "" when its name would be too long. */
void sw_package_debug_name(const char *package, char ret[static SW_PACKAGE_NAME_MAX]);

#endif
