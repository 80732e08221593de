/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_JOBS_DUMP_H
#define SW_DAEMON_JOBS_DUMP_H

#include "json.h"
#include "text.h"

#include <snapwalk/error.h>

#include <json-c/json.h>
#include <stdint.h>
#include <sys/types.h>

enum { SW_DUMP_ARRAYS_MAX = 6 };

/* The kinds of documents: a dump, or a profile with the head of one. */
struct sw_dump_kind {
	const char *schema; /* the first member's value, with its quotes; NULL: any other */
	const char *name;
	/* The arrays, in the order in which a "more" series has them. */
	const char *arrays[SW_DUMP_ARRAYS_MAX + 1];
	size_t threads, stacks; /* those that the summary counts */
};

/* A dump as its text, which a worker wrote: checked, but never built up as objects. */
struct sw_dump {
	unsigned refs;
	const struct sw_dump_kind *kind; /* static */
	char *text;                      /* owned */
	size_t size;
	struct sw_json_part arrays[SW_DUMP_ARRAYS_MAX]; /* of text */
	char *head;                  /* owned; the dump without its arrays, as JSON */
	struct json_object *summary; /* owned; io.snapwalk's Summary */
	/* Parts of the summary, its own. */
	const char *id, *comm, *exe;
	pid_t pid;
	uid_t uid;
	uint64_t starttime;
	int64_t time_ns; /* CLOCK_REALTIME */
	int64_t stopped_us, total_us, n_threads;
	bool complete, stored, profile;
};

/* Consumes text (malloc'ed), also on failure. -SW_E_FORMAT: it is no dump; -SW_E_NOMEM. */
int sw_dump_create(char *text, size_t size, struct sw_dump **ret, struct sw_error *err);
struct sw_dump *sw_dump_ref(struct sw_dump *dump);
void sw_dump_unref(struct sw_dump *dump); /* NULL is fine */

/* "stored" in the summary. -SW_E_NOMEM. */
int sw_dump_set_stored(struct sw_dump *dump, bool stored);
/* The summary as text; the dump's, until the next call. NULL: no memory. */
const char *sw_dump_summary_text(const struct sw_dump *dump);

/* Where a "more" series is; zero-initialised is its begin. */
struct sw_dump_cursor {
	int step; /* 0 head, 1.. the arrays, then the summary */
	bool in_array;
	struct sw_json_scan scan; /* of the array */
};

enum {
	SW_DUMP_PART_MAX = 1 << 20,   /* aimed at */
	SW_DUMP_REPLY_MAX = 15 << 20, /* never more than this: clients refuse messages of 16 MiB */
};

/* How a dump came to be, in its last reply. */
enum sw_coalesced { SW_COALESCED_NO, SW_COALESCED_YES, SW_COALESCED_UNSAID };

/* Appends the next reply's parameters as JSON text: {"head":...}, {"stacks":[...]}. 1: more
 * follows; 0: this was the last, with the summary; -SW_E_LIMIT: one element is above
 * SW_DUMP_REPLY_MAX. */
int sw_dump_next(const struct sw_dump *dump, struct sw_dump_cursor *cursor,
		 enum sw_coalesced coalesced, struct sw_text *text);
/* All of it as one reply's parameters. -SW_E_LIMIT. */
int sw_dump_whole(const struct sw_dump *dump, enum sw_coalesced coalesced, struct sw_text *text);

#endif
