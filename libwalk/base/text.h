/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_BASE_TEXT_H
#define SW_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A growing string. Zero-initialised is a valid empty one. Out of memory is remembered in failed,
 * so that a long text is checked once, at its end. */
struct sw_text {
	char *data; /* owned, NUL-terminated; NULL while empty */
	size_t size;
	size_t capacity;
	bool failed;
};

void sw_text_deinit(struct sw_text *text);
void sw_text_append(struct sw_text *text, const char *s, size_t size);
__attribute__((format(printf, 2, 3))) void sw_text_printf(struct sw_text *text, const char *fmt,
							  ...);

/* The whole of an open file from its start, at most max bytes (more is -SW_E_LIMIT). For /proc:
 * reads until the end, never trusts st_size. 0, -SW_E_IO with errno, -SW_E_NOMEM, -SW_E_LIMIT. */
int sw_text_read_fd(struct sw_text *text, int fd, size_t max);

/* The same by name below dirfd (AT_FDCWD works too). */
int sw_text_read_at(struct sw_text *text, int dirfd, const char *path, size_t max);

/* "1 thread", "12 threads" */
static inline const char *sw_plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

#endif
