/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PROTOCOL_PROFILE_PPROF_MESSAGES_H
#define SW_PROTOCOL_PROFILE_PPROF_MESSAGES_H

#include "errors.h"
#include "profile/protobuf.h"
#include "profile/tables.h"

enum {
	SW_PPROF_UNSEEN = UINT32_MAX,
	SW_PPROF_NO_SPACE = UINT32_MAX - 1,
	SW_PPROF_MESSAGES_MAX = 1 << 22, /* of one kind */
	SW_PPROF_TYPES_MAX = 64,
};

/* Messages with ids, in the order in which they came. */
struct sw_pprof_messages {
	struct sw_bytes *all; /* owned */
	size_t n, capacity;
	struct sw_map64 by_id;
};

struct sw_pprof_line {
	uint32_t function, file, line; /* strings of the profile */
	bool is_guess;
};

struct sw_pprof_location {
	uint64_t address;
	uint32_t module, first, n; /* lines, innermost first */
	bool is_read, is_avma;
	bool is_named; /* with a file: there is no better name */
};

/* A file that is read: its messages and strings, then the stacks that its locations, mappings and functions make
 * (stacks.h), then its samples (parse.c). */
struct sw_pprof {
	struct sw_profile *profile;      /* owned until the end */
	struct sw_profile_left_out left; /* what is not taken */
	struct sw_pprof_messages strings, mappings, locations, functions, samples;
	uint32_t *string_made;           /* owned; of each string, or SW_PPROF_UNSEEN */
	uint32_t *module_made;           /* owned; of each mapping, or SW_PPROF_UNSEEN */
	struct sw_pprof_location *known; /* owned; of each location */
	struct sw_pprof_line *lines;     /* owned */
	size_t n_lines, lines_capacity;
	struct sw_text text;                             /* reused */
	struct sw_proto_field types[SW_PPROF_TYPES_MAX]; /* of values */
	size_t n_types;
	int count_type, time_type; /* their indices; negative: there is none */
	uint64_t time_ns;          /* of one of the time's units */
	uint64_t begin_ns, duration_ns, period_ns, n_stack_lines;
	struct sw_proto_field period_type;
	uint64_t stack[SW_PROFILE_DEPTH_MAX]; /* locations of the sample that is read */
	struct sw_error *err;
	int status;
};

/* The first failure counts. what: what is wrong with the file. */
void sw_pprof_fail(struct sw_pprof *p, const char *what);
void sw_pprof_fail_memory(struct sw_pprof *p);
void sw_pprof_fail_limit(struct sw_pprof *p);

/* The index of what a table has, or SW_PPROF_NO_SPACE. */
uint32_t sw_pprof_made(struct sw_pprof *p, int r, uint32_t index);

/* The next field of a message; false at its end. */
bool sw_pprof_next(struct sw_pprof *p, struct sw_bytes message, uint64_t *at,
		   struct sw_proto_field *ret);

void sw_pprof_messages_deinit(struct sw_pprof_messages *m);
void sw_pprof_messages_add(struct sw_pprof *p, struct sw_pprof_messages *m,
			   struct sw_bytes message);

/* Each of these messages has its id in the field of the same number. */
void sw_pprof_messages_index(struct sw_pprof *p, struct sw_pprof_messages *m, size_t bytes_max);

/* False: there is none of that id. what: said then. */
bool sw_pprof_messages_find(struct sw_pprof *p, const struct sw_pprof_messages *m, uint64_t id,
			    const char *what, uint64_t *ret);

/* A string by its number; it may be long. */
struct sw_bytes sw_pprof_string_bytes(struct sw_pprof *p, uint64_t number);

/* The first bytes of a string, cut at a NUL, in p->text. */
const char *sw_pprof_string_raw(struct sw_pprof *p, uint64_t number);
bool sw_pprof_string_is(struct sw_pprof *p, uint64_t number, const char *wanted);

/* The index of a string in the profile's tables, or SW_PPROF_NO_SPACE. */
uint32_t sw_pprof_text_put(struct sw_pprof *p, const char *s);
uint32_t sw_pprof_string_put(struct sw_pprof *p, uint64_t number);

#endif
