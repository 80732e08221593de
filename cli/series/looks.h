/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_LOOKS_H
#define SW_CLI_LOOKS_H

#include "run/select.h"
#include "series/tally.h"
#include "top/view.h"

/* Looks at what the threads of a process do now, one after the other, for top. */
struct sw_looks {
	struct sw_options options; /* a copy */
	struct sw_subject subject;
	struct sw_session *session; /* owned, as the following */
	struct sw_recorder *recorder;
	struct sw_recorder_sink sink;
	struct sw_tally places; /* sw_top_thread.place of each row */
	size_t places_max;      /* of more, those alone are kept where a thread is */
	struct sw_looks_before {
		uint64_t first;
		int64_t cpu_ns;
		bool known;
	} * before; /* owned: by slot, of the look before */
	size_t n_before, before_max;
	int64_t look_ns;               /* when that was; CLOCK_MONOTONIC */
	struct sw_top_thread *threads; /* owned: the list's */
	size_t threads_max;
	struct sw_top_list list;
	char title[256];
};

/* 0, or as sw_recorder_create(). *ret must not be moved afterwards. */
int sw_looks_open(struct sw_looks *ret, const struct sw_options *options,
		  const struct sw_subject *subject, struct sw_error *err);
void sw_looks_deinit(struct sw_looks *live);

/* A look: live->list is of it, until the next one. As sw_recorder_sample(). */
int sw_looks_look(struct sw_looks *live, struct sw_error *err);

#endif
