/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_MEMORY_GO_HEAP_H
#define SW_CLI_MEMORY_GO_HEAP_H

#include "events/event_run.h"

#include <snapwalk/allocations.h>

/*
 * The profile that the runtime of Go keeps of its heap, by stack: what it has sampled, scaled to what that stands for, with
 * the error that a sample has.
 */
struct sw_go_heap {
	struct sw_event_stacks stacks; /* owned, as the following */
	struct sw_go_heap_row {
		uint32_t row; /* of stacks */
		uint64_t n_samples;
		double inuse_objects, inuse_bytes, alloc_objects, alloc_bytes;
		double variance; /* of inuse_bytes */
	} * rows;                /* most bytes in use first */
	size_t n, capacity;
	uint64_t rate_bytes;
	struct sw_target *target;
	struct sw_snapshot *snap; /* without threads; NULL: the process was not there */
	bool is_go, cut;
	char why[256]; /* it has no profile; "": it has */
};

/* Opens the process of a run, before the sandbox is entered; parses nothing. 0; -SW_E_NOMEM. *ret is valid either way. */
int sw_go_heap_open(const struct sw_event_run *run, struct sw_go_heap *ret, struct sw_error *err);
/* Reads its memory, in the sandbox of captures. 0; -SW_E_NOMEM. */
int sw_go_heap_read(const struct sw_event_run *run, struct sw_go_heap *heap, struct sw_error *err);
void sw_go_heap_deinit(struct sw_go_heap *heap);
/* Nothing is written of a program that is not in Go. */
void sw_go_heap_text(const struct sw_go_heap *heap, bool all, struct sw_text *ret);
/* A member: ,"go":{...} */
void sw_go_heap_json(const struct sw_go_heap *heap, struct sw_text *ret);

#endif
