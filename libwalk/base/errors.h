/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_BASE_ERRORS_H
#define SW_BASE_ERRORS_H

#include <snapwalk/error.h>

#include <stdbool.h>

/*
 * Fill *err (may be NULL) and return -code, so that a failing path is one statement:
 *	return sw_fail(err, SW_E_FORMAT, "%s: no program headers", path);
 * An empty format leaves the code's own sentence. errno is left as it was.
 */
__attribute__((format(printf, 3, 4))) int sw_fail(struct sw_error *err, int code, const char *fmt,
						  ...);

/* The same for a failed system call: appends ": strerror(errno)" and keeps errno in sys_errno. */
__attribute__((format(printf, 3, 4))) int sw_fail_errno(struct sw_error *err, int code,
							const char *fmt, ...);

/* Whether a call failed for want of descriptors or memory of ours: that tells nothing of what it was
 * asked about. */
bool sw_errno_is_shortage(int error);

/* Out of memory, at its only place. */
int sw_fail_nomem(struct sw_error *err);

#endif
