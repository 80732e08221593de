/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_OBTAIN_H
#define SW_CLI_OBTAIN_H

#include "cleanup.h"
#include "run/apart.h"
#include "run/deliver.h"
#include "run/select.h"
#include "text.h"

#include <snapwalk/pipeline.h>

/* When --timeout ends for work that began at begin_ns; 0 means no limit. */
int64_t sw_deadline_ns(const struct sw_options *options, int64_t begin_ns);

/* The options for sw_pipeline_run() of a capture that began at begin_ns, by the command line. */
struct sw_pipeline_options sw_obtain_options(const struct sw_options *options, int64_t begin_ns);

/* sw_pipeline_run() on a process, a core file or a fixture. */
int sw_obtain(struct sw_session *session, const struct sw_subject *subject,
	      const struct sw_options *options, const struct sw_pipeline_options *how,
	      struct sw_pipeline *ret, struct sw_error *err);

/* The same by a process that gives its privileges up in time (sandbox.h), and has them no more when
 * this returns. */
int sw_obtain_confined(struct sw_session *session, const struct sw_subject *subject,
		       const struct sw_options *options, const struct sw_pipeline_options *how,
		       struct sw_pipeline *ret, struct sw_error *err);

/* A process that was captured, for a child to read. */
struct sw_capture {
	struct sw_subject subject;
	struct sw_pipeline_options how;
	struct sw_snapshot *snap; /* owned; NULL: it is saved, and the child reads it itself */
	pid_t *owners; /* the processes for which its threads wait, as far as the kernel tells;
			  owned */
	size_t n_owners;
};
int sw_capture_make(struct sw_session *session, const struct sw_subject *subject,
		    const struct sw_pipeline_options *how, const struct sw_options *options,
		    struct sw_capture *ret, struct sw_error *err);
void sw_capture_deinit(struct sw_capture *capture);

/* The result of a child for a capture: the report, rendered for delivery. The child itself says on
 * standard error what is missing. */
struct sw_obtained {
	struct sw_text text;
	char id[128], comm[SW_COMM_MAX];
	size_t n_matched; /* sw_delivery_matches() */
	struct sw_delivery_seen seen;
	int status;
};
void sw_obtained_deinit(struct sw_obtained *obtained);

/*
 * Starts a child that gives its privileges up, reads the captures in turn, and keeps them (keep.h). All are
 * borrowed until sw_obtain_end(). It has the permissions of the first one's user, and what it may open are the
 * debug files of the first one's modules: others have the same.
 */
int sw_obtain_begin(struct sw_session *session, const struct sw_capture *captures, size_t n,
		    const struct sw_delivery *delivery, struct sw_apart *ret, struct sw_error *err);
/*
 * Waits for it, until a deadline (0: none), as it may be in the hands of those whose process it has read. *ret_n of n are
 * there, the first ones; each of ret begins with zeros and is to be deinitialised, also on failure. -SW_E_INTERNAL: it was
 * killed, or ended before the last one. -SW_E_TIMEOUT; -SW_E_LIMIT: it wrote too much.
 */
int sw_obtain_end(struct sw_apart *child, int64_t deadline_ns, struct sw_obtained *ret, size_t n,
		  size_t *ret_n, struct sw_error *err);
/* The deadline of a child that reads n processes from now on; 0 where --timeout is 0. */
int64_t sw_obtain_deadline_ns(const struct sw_options *options, size_t n);

/* All of it for one. */
int sw_obtain_apart(struct sw_session *session, const struct sw_subject *subject,
		    const struct sw_pipeline_options *how, const struct sw_delivery *delivery,
		    struct sw_obtained *ret, struct sw_error *err);

/* Threads without registers although they were asked for and have a user stack. */
size_t sw_count_missing(const struct sw_snapshot *snap);

SW_DEFINE_CLEANUP(struct sw_session *, sw_session_destroy);
SW_DEFINE_CLEANUP(struct sw_symbols *, sw_symbols_destroy);
SW_DEFINE_CLEANUP(struct sw_target *, sw_target_close);

#endif
