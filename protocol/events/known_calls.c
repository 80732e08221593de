/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cleanup.h"

#include <snapwalk/event_text.h>
#include <snapwalk/protocol.h>
#include <string.h>

/* Arguments from 1 on; 0: none. */
static const struct known_call {
	const char *name;
	uint8_t text;           /* a path */
	uint8_t bytes, n_bytes; /* an address of a socket, and its size */
	bool at_begin;          /* does not return, or as another program */
} known_calls[] = {
	{"open", 1, 0, 0, false},       {"openat", 2, 0, 0, false},
	{"openat2", 2, 0, 0, false},    {"creat", 1, 0, 0, false},
	{"stat", 1, 0, 0, false},       {"lstat", 1, 0, 0, false},
	{"newfstatat", 2, 0, 0, false}, {"statx", 2, 0, 0, false},
	{"access", 1, 0, 0, false},     {"faccessat", 2, 0, 0, false},
	{"faccessat2", 2, 0, 0, false}, {"readlink", 1, 0, 0, false},
	{"readlinkat", 2, 0, 0, false}, {"unlink", 1, 0, 0, false},
	{"unlinkat", 2, 0, 0, false},   {"rename", 1, 0, 0, false},
	{"renameat", 2, 0, 0, false},   {"renameat2", 2, 0, 0, false},
	{"mkdir", 1, 0, 0, false},      {"mkdirat", 2, 0, 0, false},
	{"rmdir", 1, 0, 0, false},      {"chdir", 1, 0, 0, false},
	{"chmod", 1, 0, 0, false},      {"chown", 1, 0, 0, false},
	{"truncate", 1, 0, 0, false},   {"mount", 2, 0, 0, false},
	{"connect", 0, 2, 3, false},    {"bind", 0, 2, 3, false},
	{"sendto", 0, 5, 6, false},     {"execve", 1, 0, 0, true},
	{"execveat", 2, 0, 0, true},    {"exit", 0, 0, 0, true},
	{"exit_group", 0, 0, 0, true},
};

static const struct known_call *known_find(const char *name)
{
	for (size_t i = 0; i < SW_ARRAY_SIZE(known_calls); i++)
		if (strcmp(known_calls[i].name, name) == 0)
			return &known_calls[i];
	return NULL;
}

bool sw_event_set_call(struct sw_event_options *options, const char *name)
{
	const struct known_call *known = known_find(name);
	options->call = sw_call_number(name, false);
	options->call_32 = sw_call_number(name, true);
	if (options->call < 0 && options->call_32 < 0)
		return false;
	if (known != NULL) {
		options->text = known->text;
		options->bytes = known->bytes;
		options->n_bytes = known->n_bytes;
		options->at_begin = known->at_begin;
	}
	return true;
}
