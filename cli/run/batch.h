/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_BATCH_H
#define SW_CLI_BATCH_H

#include "run/obtain.h"

enum {
	SW_BATCH_PROCESSES = 24, /* read by one child */
	SW_BATCH_THREADS = 1024, /* of them together: their stacks are held until then */
};

/* Captures that wait for a child, or that a child reads now. */
struct sw_batch_group {
	struct sw_capture captures[SW_BATCH_PROCESSES];
	size_t n, n_threads;
	struct sw_text rights; /* of each of them */
};

/*
 * Many processes, one after the other: while a child reads some that were captured, the next ones are captured. A child
 * starts up, reads symbols and makes rules for several processes at once where these are of one kind (batch.c), and for one
 * otherwise. Results come in the order in which processes were added.
 */
struct sw_batch {
	struct sw_session *session;   /* borrowed */
	struct sw_delivery *delivery; /* borrowed */
	struct sw_batch_group open, running;
	struct sw_apart child; /* of running; none while that is empty */
	int status;            /* SW_STATUS_*: the worst so far */
};

/*
 * Captures a process, or takes a saved one. Messages about it that come later are printed by
 * themselves. @param ret_owners Borrowed until the next call: the processes for which its threads
 * wait.
 */
int sw_batch_add(struct sw_batch *batch, const struct sw_subject *subject,
		 const struct sw_pipeline_options *how, const pid_t **ret_owners,
		 size_t *ret_n_owners, struct sw_error *err);
/* Delivers all that was added. */
void sw_batch_flush(struct sw_batch *batch);

#endif
