/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_RECORDING_STATE_H
#define SW_RECORDING_STATE_H

#include "map.h"
#include "recording/shares.h"

#include <snapwalk/recorder.h>

/* A thread, by its slot in the series. */
struct sw_recorder_slot {
	pid_t tid;
	uint64_t first, moved; /* samples: in which it was seen first; in which it had run last */
	uint32_t row;          /* of the sink; SW_RECORDER_NO_ROW */
	bool counted;          /* it has a stack, and is one of those that are wanted */
	bool used;
	bool fresh;     /* the sink has counted the first of them */
	bool stackless; /* it has none: a worker of the kernel's, or it has ended */
	enum sw_activity activity;
	char comm[SW_COMM_MAX];
	struct sw_sample_times times; /* of the last change: up to it blocked time is told */
	int64_t pending_ns;           /* blocked, with a stack that was not seen */
	uint64_t since;               /* the first sample for which it is not counted yet */
	struct sw_shares shares;      /* only where running threads are sampled by events */
	uint32_t event_row;           /* likewise: of the last event; SW_RECORDER_NO_ROW */
};

/* Walks whose names are known, of one source of samples. */
struct sw_recorder_known {
	struct sw_map64 rows; /* hash of name and frames -> row */
	uint64_t generation;  /* of the maps that they are of */
};
enum { SW_BY_SAMPLER, SW_BY_EVENTS, SW_SOURCES };

struct sw_recorder {
	struct sw_recorder_options options;
	struct sw_session *session; /* borrowed, as the following */
	const struct sw_recorder_sink *sink;
	struct sw_target *target;   /* owned */
	struct sw_sampler *sampler; /* owned; NULL: by events, or of another source */
	/* Owned; NULL: not by events. With a sampler it has the stacks of threads that run, which the sampler
	 * leaves alone. */
	struct sw_cpu_sampler *cpu;
	struct sw_error no_events; /* why the kernel refused them */
	bool running_only;
	struct sw_recorder_slot *slots; /* owned */
	size_t n_slots, slots_max;
	struct sw_recorder_known known[SW_SOURCES];
	struct sw_map64 by_tid;         /* of those slots; where events are counted for them */
	double spent[SW_SHARES_STATES]; /* likewise: of totals */
	struct sw_report *report; /* owned: of the last walks that were not known; NULL: none */
	size_t n_threads;
	int64_t look_ns,
		last_look_ns; /* when this sample began, and the one before; CLOCK_MONOTONIC */
	bool ended;
	struct sw_recorder_totals totals;
};

static inline bool sw_recorder_by_both(const struct sw_recorder *r)
{
	return r->cpu != NULL && r->sampler != NULL;
}

#endif
