/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A snapshot as a directory, to walk it again elsewhere. It is walked and named here first, so that
 * everything that is read of the running process for that is recorded, too.
 */
#include "commands/commands.h"
#include "common/complain.h"
#include "run/keep.h"
#include "run/obtain.h"

#include <snapwalk/clock.h>

static int record(struct sw_session *session, const struct sw_subject *subject,
		  const struct sw_options *options)
{
	struct sw_error err = {0};
	sw_cleanup(sw_pipeline_deinit) struct sw_pipeline all = {0};
	struct sw_pipeline_options how = sw_obtain_options(options, sw_clock_ns());
	how.snapshot.awaits = how.walk.awaits = true; /* as the dump of the process has them */
	if (sw_obtain_confined(session, subject, options, &how, &all, &err) < 0)
		return sw_complain_error(subject->name, &err);
	const struct sw_snapshot *snap = all.snap;
	if (sw_keep(options, snap, &err) < 0)
		return sw_complain_error(options->keep, &err);
	size_t captured = 0;
	for (size_t i = 0; i < snap->n_threads; i++)
		captured += snap->threads[i].captured;
	printf("%s: %zu of %zu threads, stopped for %.2f ms\n"
	       "It holds the memory of the stacks: treat it as confidential.\n"
	       "Walk it with: snapwalk dump --fixture %s\n",
	       options->keep, captured, snap->n_threads, (double) snap->times.stopped_ns / 1e6,
	       options->keep);
	return sw_count_missing(snap) == 0 ? SW_STATUS_COMPLETE : SW_STATUS_MISSING;
}

int sw_cmd_record(const struct sw_options *options)
{
	struct sw_subject subject;
	int status = sw_keep_check(options);
	if (status == SW_STATUS_COMPLETE)
		status = sw_select_one(options, &subject);
	if (status != SW_STATUS_COMPLETE)
		return status;
	struct sw_keeper keeper = {0};
	struct sw_options names = *options; /* lines come from files, not from memory */
	names.symbolize.level = SW_SYMBOLS_NAMES;
	names.keeper = &keeper;
	struct sw_session *session;
	struct sw_error err = {0};
	if (sw_session_create(&session, &err) < 0)
		return sw_complain_error("snapwalk", &err);
	status = record(session, &subject, &names);
	sw_keeper_end(&keeper);
	sw_session_destroy(session);
	return status;
}
