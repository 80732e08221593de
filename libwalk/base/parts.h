/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PARTS_H
#define SW_PARTS_H

#include <stdbool.h>
#include <string.h>

/* Parts of strings. */

static inline bool sw_begins_with(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

static inline bool sw_ends_with(const char *s, const char *suffix)
{
	size_t length = strlen(s), n = strlen(suffix);
	return length >= n && strcmp(s + length - n, suffix) == 0;
}

/* The name behind the last slash of a path; the whole path if it has none. */
static inline const char *sw_path_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash != NULL ? slash + 1 : path;
}

#endif
