/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_BEAM_WINDOW_H
#define SW_BEAM_WINDOW_H

#include "runtimes/beam/find.h"
#include "runtimes/beam/functions.h"
#include "runtimes/beam/processes.h"
#include "runtimes/beam/schedulers.h"
#include "unwind/capture.h"

enum { SW_BEAM_SEEN_SLOTS = 8192, SW_BEAM_CHUNK_WORDS = 512 };

/* A module's header and list of functions, as copied. */
struct sw_beam_header {
	uint64_t avma, n;
	const uint8_t *copy;
};

/* The state of the window, set aside before it. */
struct sw_beam_window {
	struct sw_beam_found found;
	struct sw_beam_list list;
	const uint8_t *pairs; /* of the list, as copied; NULL: none */
	uint64_t seen[SW_BEAM_SEEN_SLOTS];
	size_t n_seen;
	struct sw_beam_header headers[256];
	size_t n_headers;
	uint64_t chunk[SW_BEAM_CHUNK_WORDS];
	struct sw_capture *capture; /* that is under way */
	bool whole;                 /* nothing runs */
	bool processes_cut;         /* not all were copied */
};

/* The module that holds avma, in the list as copied; 0: none. */
uint64_t sw_beam_window_module(const struct sw_beam_window *w, uint64_t avma);
/* Copies what the name of the function that holds avma needs, and its line. */
void sw_beam_window_function(struct sw_capture *capture, struct sw_beam_window *w, uint64_t avma);

/* sw_runtime_ops.before, stacks, in_window. */
int sw_beam_before(struct sw_capture *capture);
int sw_beam_stacks(struct sw_capture *capture);
int sw_beam_in_window(struct sw_capture *capture);

#endif
