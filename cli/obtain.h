/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_OBTAIN_H
#define SW_CLI_OBTAIN_H

#include "cleanup.h"
#include "select.h"

/* What commands share: the context, a snapshot of whatever the subject is, its walks and names. */
struct sw_session {
	struct sw_context *ctx;           /* owned */
	struct sw_symbolizer *symbolizer; /* owned; NULL when no names are wanted */
};

int sw_session_init(struct sw_session *ret, const struct sw_options *options, struct sw_error *err);
void sw_session_deinit(struct sw_session *session);

/* When --timeout ends for work that began at begin_ns; 0 means no limit. */
int64_t sw_deadline_ns(const struct sw_options *options, int64_t begin_ns);

/* From a process, a core file or a fixture. */
int sw_obtain_snapshot(struct sw_session *session, const struct sw_subject *subject,
		       const struct sw_options *options, struct sw_snapshot **ret,
		       struct sw_error *err);

/* Threads without registers although they were asked for and have a user stack. */
size_t sw_count_missing(const struct sw_snapshot *snap);

/* A capture seen through to its report; everything is freed by sw_obtained_deinit(). */
struct sw_obtained {
	struct sw_snapshot *snap;
	struct sw_walks *walks;
	struct sw_symbols *symbols; /* NULL with --symbols none */
	struct sw_report *report;
};

int sw_obtain_report(struct sw_session *session, const struct sw_subject *subject,
		     const struct sw_options *options, int64_t begin_ns, uint64_t seq,
		     struct sw_obtained *ret, struct sw_error *err);
void sw_obtained_deinit(struct sw_obtained *obtained);

SW_DEFINE_CLEANUP(struct sw_snapshot *, sw_snapshot_destroy);
SW_DEFINE_CLEANUP(struct sw_walks *, sw_walks_destroy);
SW_DEFINE_CLEANUP(struct sw_symbols *, sw_symbols_destroy);
SW_DEFINE_CLEANUP(struct sw_target *, sw_target_close);

#endif
