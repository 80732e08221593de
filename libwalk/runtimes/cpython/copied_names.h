/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_COPIED_NAMES_H
#define SW_CPYTHON_COPIED_NAMES_H

#include "arena.h"
#include "map.h"

#include <snapwalk/walk.h>

enum { SW_CPYTHON_COPIED_NAMES_MAX = 4096 };

/* The name of a thread when it was last looked for; "" if no name was found. */
struct sw_cpython_copied_name {
	int64_t read_ns;     /* 0: not yet */
	int64_t believed_ns; /* for so long it is not read again */
	char text[sizeof(((struct sw_thread_info *) 0)->name)];
};

/* The names of threads that copies were made of. Zero-initialised is valid and empty. */
struct sw_cpython_copied_names {
	struct sw_map64 map; /* state, id and number -> struct sw_cpython_copied_name */
	struct sw_arena arena;
};

/* A thread's state, its id of pthread_self() and its number. State and id are another thread's as soon as
 * this one has ended; the number, where there is one, is not. */
struct sw_cpython_copied_key {
	uint64_t state_avma, id, number;
};

/* Borrowed until the next call; new ones are zeroed; NULL: no memory. All names are dropped when one more
 * than SW_CPYTHON_COPIED_NAMES_MAX is asked for. */
struct sw_cpython_copied_name *sw_cpython_copied_names_get(struct sw_cpython_copied_names *names,
							   const struct sw_cpython_copied_key *key);

/* Whether it is to be read again. A name that stays is believed for ever longer, from 1 s up to 16 s: reading it takes
 * longer than all else of a sample. */
bool sw_cpython_copied_name_is_old(const struct sw_cpython_copied_name *name, int64_t now_ns);
/* Set the name that was read just now. text: as large as that of a name. */
void sw_cpython_copied_name_set(struct sw_cpython_copied_name *name, const char *text,
				int64_t now_ns);

void sw_cpython_copied_names_deinit(struct sw_cpython_copied_names *names);

#endif
