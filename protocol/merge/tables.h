/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_MERGE_TABLES_H
#define SW_MERGE_TABLES_H

#include "arena.h"
#include "map.h"

#include <snapwalk/merge.h>

/* The tables of a merge. Tables only grow; their elements refer to each other by index. */

enum {
	SW_MERGE_CALLS_MAX = 2048, /* of a stack, from its outermost one: writers recurse */
};

#define SW_MERGE_NONE UINT32_MAX

struct sw_merge_process {
	const char *name; /* these are in the arena; NULL: none */
	const char *host, *comm, *unit, *container;
	uint32_t program;   /* a string */
	uint32_t first_own; /* of its heres; SW_MERGE_NONE */
	int64_t time_ns;
	uint64_t starttime; /* 0: unknown */
	size_t n_threads;
	uint64_t left_threads; /* found no space */
	pid_t pid;
	bool complete;
};

struct sw_merge_refusal {
	const char *name, *message; /* in the arena */
};

/* A dump of a process that has a newer one. */
struct sw_merge_older {
	const char *name; /* in the arena */
	uint32_t process;
};

/* A call as all processes name it. Strings. */
struct sw_merge_frame {
	uint32_t function; /* of code without a name: its file and offset */
	uint32_t file;     /* without directory; 0: unknown */
	uint32_t line;     /* 0: unknown, or not compared */
	uint32_t module;   /* without directory; 0: the function says it */
	bool libc;         /* of the C library or without a name: says little of the program */
};

/* A place: the call of a frame, made at the parent. */
struct sw_merge_place {
	uint32_t parent; /* SW_MERGE_NONE: of a role, and there is no frame */
	uint32_t frame;
	uint32_t first_child, next_sibling; /* SW_MERGE_NONE: no more */
	uint32_t n_processes;               /* that have a thread here or in a call below */
	uint32_t last_process;              /* that was counted */
	uint32_t first_here;                /* of those whose threads end here; SW_MERGE_NONE */
	uint64_t n_threads;                 /* here or below */
};

/* Threads of a process whose innermost call a place is. */
struct sw_merge_here {
	uint32_t process, place;
	uint32_t next, before; /* of the place; SW_MERGE_NONE */
	uint32_t next_own;     /* of the process, or of those that are free; SW_MERGE_NONE */
	uint32_t n_threads;
	uint32_t n_running;        /* of these, on a CPU or wanting one */
	int64_t least_ms, most_ms; /* off the CPU; -1: unknown */
};

/* Threads that do the same in each process: the main thread, those of one name, numbers at its end left out. */
struct sw_merge_role {
	uint32_t program, name; /* strings; the name of a main thread is 0 */
	uint32_t root;          /* its place */
};

struct sw_merge {
	struct sw_merge_options options;    /* noun is in the arena */
	struct sw_arena arena;              /* names of processes and refusals */
	struct sw_merge_process *processes; /* owned, as all tables */
	size_t n_processes, processes_capacity;
	struct sw_merge_refusal *refusals;
	size_t n_refusals, refusals_capacity;
	struct sw_merge_older *older;
	size_t n_older, older_capacity;
	struct sw_map64 processes_by_hash; /* of host, process id and start time */
	const char **strings;              /* in the arena; the first is "" */
	size_t n_strings, strings_capacity, n_bytes;
	struct sw_map64 strings_by_hash;
	struct sw_merge_frame *frames;
	size_t n_frames, frames_capacity;
	struct sw_map64 frames_by_hash;
	struct sw_merge_place *places;
	size_t n_places, places_capacity;
	struct sw_map64 places_by_call; /* parent and frame */
	struct sw_merge_here *heres;
	size_t n_heres, heres_capacity;
	uint32_t free_heres; /* the first one that may be used again; SW_MERGE_NONE */
	struct sw_merge_role *roles;
	size_t n_roles, roles_capacity;
	struct sw_map64 roles_by_name; /* program and name */
	uint64_t left_threads;         /* found no space */
};

/* These give the element of what they are given, which is added where it is new. 0; -SW_E_LIMIT: there is no space for
 * it; -SW_E_NOMEM. */
int sw_merge_string_find(struct sw_merge *m, const char *s, size_t size, uint32_t *ret);
int sw_merge_frame_find(struct sw_merge *m, const struct sw_merge_frame *frame, uint32_t *ret);
int sw_merge_place_find(struct sw_merge *m, uint32_t parent, uint32_t frame, uint32_t *ret);
int sw_merge_role_find(struct sw_merge *m, uint32_t program, uint32_t name, uint32_t *ret);

static inline const char *sw_merge_string(const struct sw_merge *m, uint32_t index)
{
	return m->strings[index];
}

static inline const struct sw_merge_frame *sw_merge_frame_of(const struct sw_merge *m,
							     uint32_t place)
{
	return &m->frames[m->places[place].frame];
}

#endif
