/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SNAPWALK_PIPELINE_H
#define SNAPWALK_PIPELINE_H

/*
 * A capture from the process to the report:
 *
 *	take -> [the target runs again] -> walk -> name -> report
 *
 * The only place that knows this order. Whoever captures says what the snapshot is made of, how
 * long each step may take, and what happens as soon as nothing of the target is held any more:
 * that is the moment to give privileges up, as bytes of the target are parsed from then on.
 */

#include <snapwalk/protocol.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The state that outlives one capture: a context and a symbolizer. The second capture of a program
 * finds its rules and names there. Belongs to one thread at a time. */
struct sw_session;

/** @return 0; -SW_E_NOMEM. Free with sw_session_destroy(), after every sw_pipeline made with it. */
SW_PUBLIC int sw_session_create(struct sw_session **ret, struct sw_error *err);
SW_PUBLIC void sw_session_destroy(struct sw_session *session);
/** The session's; borrowed. */
SW_PUBLIC struct sw_context *sw_session_context(const struct sw_session *session);
/** The session's; borrowed. Made when it is first asked for. @return 0; -SW_E_NOMEM. */
SW_PUBLIC int sw_session_symbolizer(struct sw_session *session, struct sw_symbolizer **ret,
				    struct sw_error *err);

enum sw_origin_kind {
	SW_FROM_TARGET,  /* stopped with sw_pipeline_options.snapshot */
	SW_FROM_CORE,    /* an ELF core file */
	SW_FROM_FIXTURE, /* a recorded directory */
	SW_FROM_SNAPSHOT, /* taken already, with the session's context: the step "take" is left out */
};

/** The source of a capture. Everything is borrowed for the call; a snapshot until the capture is
 * freed. */
struct sw_origin {
	enum sw_origin_kind kind;
	struct sw_target *target;     /* SW_FROM_TARGET */
	const char *path;             /* SW_FROM_CORE, SW_FROM_FIXTURE */
	struct sw_core_options core;  /* SW_FROM_CORE */
	struct sw_snapshot *snapshot; /* SW_FROM_SNAPSHOT */
};

/** The last step that is done. */
enum sw_pipeline_step {
	SW_PIPELINE_REPORT,
	SW_PIPELINE_NAME,
	SW_PIPELINE_WALK,
	SW_PIPELINE_TAKE,
};

/** Zero-initialised means the defaults. Each step has its own limit: snapshot.max_stop_ms,
 * walk.deadline_ns and symbolize.deadline_ns, or limit_ns in the place of both. */
struct sw_pipeline_options {
	struct sw_snapshot_options snapshot;
	struct sw_walk_options walk;
	bool libunwind; /* who walks: see sw_walk_libunwind() */
	struct sw_symbolize_options symbolize;
	struct sw_report_options report;
	/*
	 * > 0: what walking and naming may take, from the moment when the snapshot is there: what it took to
	 * make it costs no stack. Walking comes first; names have what it left, and a quarter in any case.
	 * end_ns (CLOCK_MONOTONIC, 0: none) ends both, whatever is left.
	 */
	int64_t limit_ns, end_ns;
	enum sw_pipeline_step last;
	/*
	 * Called once the snapshot is there and the target runs again, before anything of it is
	 * walked or named. Not with SW_FROM_SNAPSHOT. An answer below 0 (with err filled) ends the
	 * capture with that answer. NULL: nothing is to be done.
	 */
	int (*resumed)(void *arg, const struct sw_snapshot *snap, struct sw_error *err);
	void *resumed_arg;
};

/** A capture: what the steps made, NULL for those that were not done. */
struct sw_pipeline {
	struct sw_snapshot *snap;
	struct sw_walks *walks;
	struct sw_symbols *symbols; /* NULL with SW_SYMBOLS_NONE, too */
	struct sw_report *report;
	bool snap_borrowed; /* SW_FROM_SNAPSHOT */
};

/**
 * Do the steps up to options->last.
 *
 * @param ret  Free with sw_pipeline_deinit(), which after a failure is allowed but not needed.
 * @return 0; whatever sw_snapshot_take(), sw_snapshot_from_core() or sw_snapshot_load(), the walk,
 *         options->resumed, sw_symbolize() and sw_report_build() return.
 */
SW_PUBLIC int sw_pipeline_run(struct sw_session *session, const struct sw_origin *origin,
			      const struct sw_pipeline_options *options, struct sw_pipeline *ret,
			      struct sw_error *err);
/** Frees what the steps made; a zero-initialised one is allowed. */
SW_PUBLIC void sw_pipeline_deinit(struct sw_pipeline *pipeline);

#ifdef __cplusplus
}
#endif

#endif
