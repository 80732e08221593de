/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_GRAPH_H
#define SW_CLR_GRAPH_H

#include "runtimes/clr/objects/classes.h"
#include "snapshot/snapshot.h"

/*
 * The tasks that can be reached from words (registers, stacks, static fields): through tasks, their continuations,
 * delegates, timers, queues and sockets, and through one object of any other class in between (two behind what waits
 * for sockets, whose dictionary has its elements so). Not the heap: what only other objects lead to is not found.
 */
enum {
	SW_CLR_NODES_MAX = 1 << 15,
	SW_CLR_NODE_SLOTS = 1 << 16,
	SW_CLR_SCAN_BYTES = 16 << 10,       /* of one object */
	SW_CLR_SLOT_SCAN_BYTES = 256 << 10, /* of one that a static field has: sockets are in one */
	SW_CLR_ROOT_STACK_BYTES = 256 << 10, /* of each thread's stack */
};

struct sw_clr_node {
	uint64_t avma;
	uint8_t kind; /* enum sw_clr_kind */
	uint8_t hops; /* of an object of another class: it, and how many such may follow it */
	uint32_t
		thread; /* the index of the thread whose stack led there first; in awaits_window.c */
};

struct sw_clr_graph {
	const struct sw_clr_classes *at; /* borrowed */
	struct sw_clr_class_cache *classes;
	struct sw_memory memory;
	const struct sw_snapshot *snap; /* borrowed */
	uint8_t *stack_maps; /* borrowed; of snap's maps: threads have their stacks there */
	size_t n_stack_maps;
	/* Whether to go on. */
	bool (*go_on)(void *arg);
	void *arg;
	struct sw_clr_node nodes[SW_CLR_NODES_MAX];
	size_t n;
	uint64_t held[SW_CLR_SLOTS_MAX];  /* what static fields had; 0: nothing */
	uint32_t seen[SW_CLR_NODE_SLOTS]; /* 1 + index of a node */
	bool incomplete;                  /* there was more than that */
};

/* Empties it; at, memory and the functions stay. */
void sw_clr_graph_reset(struct sw_clr_graph *graph);

/* A word that may be the address of an object. Only those of classes that lead to tasks count, but with hops: so many
 * of any other class before one of these. */
void sw_clr_graph_word(struct sw_clr_graph *graph, uint64_t word, uint8_t hops);

/* Whether a word may be the address of an object: the collector's memory has no file and no stack, on which there are
 * MethodTables, too. */
bool sw_clr_may_be_object(const struct sw_clr_graph *graph, uint64_t avma);

/* Marks the maps in which threads have their stacks; sw_clr_graph_roots() does, too. */
void sw_clr_graph_stacks(struct sw_clr_graph *graph);

/* Registers and stacks of all threads, and static fields. stacks reads what was copied of a thread's. */
void sw_clr_graph_roots(struct sw_clr_graph *graph, struct sw_memory stacks);

/* All that can be reached from what was added. */
void sw_clr_graph_close(struct sw_clr_graph *graph);

#endif
