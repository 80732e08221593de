/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_BASE_CLEANUP_H
#define SW_BASE_CLEANUP_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <dirent.h>

/*
 * Owned locals: sw_cleanup(sw_free_p) char *path = NULL;
 * Hand over:    *ret_path = sw_take_ptr(path);
 */
#define sw_cleanup(fn) __attribute__((cleanup(fn)))

#define sw_take_ptr(p)                         \
	({                                     \
		__typeof__(p) sw_taken_ = (p); \
		(p) = NULL;                    \
		sw_taken_;                     \
	})

#define sw_take_fd(fd)                \
	({                            \
		int sw_taken_ = (fd); \
		(fd) = -EBADF;        \
		sw_taken_;            \
	})

/* Defines name##_p for a destroy function, usable with sw_cleanup(). */
#define SW_DEFINE_CLEANUP(type, destroy)        \
	static inline void destroy##_p(type *p) \
	{                                       \
		destroy(*p);                    \
	}                                       \
	struct sw_semicolon_

static inline void sw_free_p(void *p)
{
	free(*(void **) p);
}

/*
 * The variable is empty afterwards: the number may be that of another file by the next call.
 * errno is kept: a failing path still wants to report its own.
 */
static inline void sw_close_p(int *fd)
{
	int closed = sw_take_fd(*fd);
	if (closed >= 0) {
		int saved = errno;
		(void) close(closed); /* nothing to do about it: every writer checks before */
		errno = saved;
	}
}

static inline void sw_fclose_p(FILE **f)
{
	if (*f != NULL)
		(void) fclose(*f); /* readers only; writers close and check themselves */
}

static inline void sw_closedir_p(DIR **d)
{
	if (*d != NULL)
		(void) closedir(*d);
}

#define SW_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif
