/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PROFILE_TABLES_H
#define SW_PROFILE_TABLES_H

#include "arena.h"
#include "map.h"

#include <snapwalk/profile.h>

/*
 * The tables of a profile have no duplicates and refer to one another by index. Index 0 of strings
 * is "", of modules none, of frames and nodes the root; so 0 always means that there is none.
 */

enum sw_profile_frame_flag {
	SW_PROFILE_INLINED = 1,
	SW_PROFILE_INTERNAL = 2, /* an interpreter's own: hidden from people */
	SW_PROFILE_GUESS = 4,
	SW_PROFILE_SIGNAL = 8,
	SW_PROFILE_MAY_MISS = 16,
	SW_PROFILE_MARK = 32, /* says something about the stack: "[cut: frame_limit]" */
	SW_PROFILE_AVMA = 64, /* the address is of the process: where its module lay is not known */
};

struct sw_profile_module {
	uint32_t path, build_id;       /* strings; the same two are the same module */
	uint64_t start_avma, end_avma; /* where it was first seen */
	uint64_t bias;                 /* avma - svma there */
	/* Profiles of others have these. The offset in the file of start_avma; 0: all of it is mapped in one part. by_mapping: addresses
	 * are such offsets, and bias is avma - offset: no file was there that tells where in it they are. */
	uint64_t mapping_off;
	bool by_mapping;
};

struct sw_profile_frame {
	uint64_t address;        /* in the module's file (svma), of a frame without one avma */
	uint32_t function, file; /* strings */
	uint32_t module;
	uint32_t line;
	uint32_t kind; /* string */
	uint32_t flags;
};

/* A prefix tree: a stack is its innermost node. */
struct sw_profile_node {
	uint32_t parent, frame;
};

/* generation: tells processes of one number apart: see sw_profile_process_add(). */
struct sw_profile_process {
	uint32_t pid, generation;            /* pid 0: it had ended before it was looked at */
	uint32_t comm, exe, unit, container; /* strings */
	uint64_t starttime;                  /* in clock ticks: proc(5); 0: not known */
};

/* An attribute that a process publishes of itself. */
struct sw_profile_attribute {
	uint32_t pid, generation; /* of the process */
	uint32_t key, value;      /* strings; the value is no part of the key */
};

struct sw_profile_thread {
	uint32_t pid, generation; /* of its process */
	uint32_t tid;             /* 0: all of this name that found no space of their own */
	uint32_t key;  /* string: what the kernel calls it, or a later name by its runtime */
	uint32_t name; /* string; no part of the key */
};

struct sw_profile_row {
	uint32_t thread, node;
	uint32_t wait; /* string: in what it was blocked, or is idle */
	uint32_t state;
	uint64_t count, ns;
};

/* Elements without duplicates, by their first key_bytes, which have no padding. */
struct sw_profile_table {
	void *items; /* owned */
	size_t n, capacity, item_bytes, key_bytes;
	struct sw_map64 index;
};

struct sw_profile {
	struct sw_arena arena; /* strings */
	struct sw_profile_table strings, modules, frames, nodes, processes, attributes, threads,
		rows;
	uint8_t *is_stack; /* owned; of each node: a stack ends here */
	size_t is_stack_capacity;
	struct sw_profile_limits limits;
	bool by_process; /* the root of each stack is its process */
	struct sw_profile_info info;
	uint32_t host, kernel, ended_early; /* strings */
	uint64_t seed;                      /* of hashes: names are the target's */
	size_t n_stacks, n_bytes;
	uint64_t count, ns, left_count, left_ns;
};

enum {
	SW_PROFILE_NAME_BYTES_MAX = 4096, /* longer names are cut, with … */
	SW_PROFILE_PROCESSES_MAX = 4096,
	SW_PROFILE_ATTRIBUTES_MAX = 1 << 16,
	SW_PROFILE_MODULES_MAX = 1 << 16,
	SW_PROFILE_DEPTH_MAX =
		4096, /* of a stack, its mark apart: the outermost frames are left out */
};

/* A string in the table is kept where it is. */
struct sw_profile_string {
	const char *data; /* NUL-terminated, valid UTF-8, without control characters */
	size_t size;
};

static inline const char *sw_profile_text_of(const struct sw_profile *p, uint32_t string)
{
	return ((const struct sw_profile_string *) p->strings.items)[string].data;
}

#define SW_PROFILE_GETTER(type, table)                                        \
	static inline const struct sw_profile_##type *sw_profile_##type##_at( \
		const struct sw_profile *p, size_t i)                         \
	{                                                                     \
		return (const struct sw_profile_##type *) p->table.items + i; \
	}                                                                     \
	struct sw_semicolon_
SW_PROFILE_GETTER(module, modules);
SW_PROFILE_GETTER(frame, frames);
SW_PROFILE_GETTER(node, nodes);
SW_PROFILE_GETTER(process, processes);
SW_PROFILE_GETTER(attribute, attributes);
SW_PROFILE_GETTER(thread, threads);
SW_PROFILE_GETTER(row, rows);

/*
 * Each finds an element or adds it: 1 with *ret; 0: it is not there, and there is no space for it;
 * -SW_E_NOMEM. With grow = false nothing is added. Elements that refer to others have been given
 * their indices.
 */
int sw_profile_string_find(struct sw_profile *p, const char *s, bool grow, uint32_t *ret);
int sw_profile_module_find(struct sw_profile *p, const struct sw_profile_module *module, bool grow,
			   uint32_t *ret);
int sw_profile_frame_find(struct sw_profile *p, const struct sw_profile_frame *frame, bool grow,
			  uint32_t *ret);
int sw_profile_node_find(struct sw_profile *p, uint32_t parent, uint32_t frame, bool grow,
			 uint32_t *ret);
/* The node of that frame below parent. */
int sw_profile_node_of_frame(struct sw_profile *p, uint32_t parent,
			     const struct sw_profile_frame *frame, bool grow, uint32_t *ret);
/* As it is given, with its generation. */
int sw_profile_process_find(struct sw_profile *p, const struct sw_profile_process *process,
			    uint32_t *ret);
/*
 * Gives a process its generation: a number that is used again is another process, by the time of its start; those that had ended
 * have no number, and are told apart by their names.
 */
int sw_profile_process_add(struct sw_profile *p, struct sw_profile_process *process, uint32_t *ret);
/* The process of a thread. False: there were too many. */
bool sw_profile_process_index(const struct sw_profile *p, const struct sw_profile_thread *thread,
			      uint32_t *ret);
bool sw_profile_attribute_is_of(const struct sw_profile_attribute *attribute,
				const struct sw_profile_process *process);
/* The last value of a key is the one that stays. */
int sw_profile_attribute_find(struct sw_profile *p, const struct sw_profile_attribute *attribute,
			      uint32_t *ret);
int sw_profile_thread_find(struct sw_profile *p, const struct sw_profile_thread *thread, bool grow,
			   uint32_t *ret);
/* Also marks the node as a stack; a row that is there keeps its counts. */
int sw_profile_row_find(struct sw_profile *p, const struct sw_profile_row *row, uint32_t *ret);

/* The same for any table. */
int sw_profile_table_find(struct sw_profile_table *t, uint64_t seed, const void *item, bool grow,
			  uint32_t *ret);

/* Whether a stack that is not there yet may be added. */
bool sw_profile_has_space(const struct sw_profile *p);

#endif
