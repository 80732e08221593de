/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_SAMPLE_TABLE_H
#define SW_SAMPLE_TABLE_H

#include "iterate/record.h"
#include "map.h"

#include <snapwalk/sampler.h>

/* The threads that a series knows. */

struct sw_sample_thread {
	bool used;
	bool stale; /* its stack was not had since it ran: it is read although it did not run again */
	bool unknown_code; /* its stack ended in code that the maps did not have */
	enum sw_activity activity;
	pid_t tid;
	uint64_t start_ns; /* 0: unknown */
	uint64_t n_switches;
	uint64_t pass; /* the last one that listed it whole */
	struct sw_sample_times times;
	uint32_t record; /* index + 1 in the pass of this sample; 0: none */
};

struct sw_sample_table {
	struct sw_sample_thread *threads; /* owned; by slot */
	size_t n, capacity;
	size_t n_used;
	uint32_t *free_slots; /* owned */
	size_t n_free, free_capacity;
	struct sw_map64 by_tid; /* -> slot */
};

void sw_sample_table_deinit(struct sw_sample_table *table);

/* The slot of a thread, or SIZE_MAX. start_ns 0: any of that id. */
size_t sw_sample_table_find(const struct sw_sample_table *table, pid_t tid, uint64_t start_ns);

/* A slot for a thread that is not in the table; SIZE_MAX: no memory. */
size_t sw_sample_table_add(struct sw_sample_table *table, pid_t tid, uint64_t start_ns);

void sw_sample_table_remove(struct sw_sample_table *table, size_t slot);

#endif
