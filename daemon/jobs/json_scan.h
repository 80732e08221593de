/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_JOBS_JSON_SCAN_H
#define SW_DAEMON_JOBS_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Walking over JSON text without building anything: a dump may be 64 MiB, as json-c's objects ten
 * times that. Strict (RFC 8259): what passes here is taken by every client.
 */
enum { SW_JSON_DEPTH_MAX = 16 };

struct sw_json_text {
	const char *data; /* borrowed; hostile */
	size_t size;
};

/* Steps over one value and the white space around it. False: it is malformed, not valid UTF-8, too
 * deep or cut short; *offset is then of no use. */
bool sw_json_skip(struct sw_json_text text, size_t *offset);

/* Members of an object and elements of an array, one by one: *ret is zero and *offset at the bracket
 * for the first, then both are what the call before left. 1 and the part; 0 at the end, *offset is
 * behind the closing bracket; -1 malformed. */
struct sw_json_part {
	size_t key, key_size;    /* without its quotes, escapes as they are; 0 in arrays */
	size_t value, value_end; /* [value, value_end), no white space around */
	char closing;            /* '}' or ']': what it is a part of */
};
int sw_json_next(struct sw_json_text text, size_t *offset, struct sw_json_part *ret);

#endif
