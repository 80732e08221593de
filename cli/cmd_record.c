/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A snapshot as a directory, to walk it again elsewhere. */
#include "commands.h"
#include "complain.h"
#include "obtain.h"

static int record(struct sw_session *session, const struct sw_subject *subject,
		  const struct sw_options *options)
{
	struct sw_error err = {0};
	sw_cleanup(sw_snapshot_destroy_p) struct sw_snapshot *snap = NULL;
	if (sw_obtain_snapshot(session, subject, options, &snap, &err) < 0)
		return sw_complain_error(subject->name, &err);
	if (sw_snapshot_save(snap, options->output, &err) < 0)
		return sw_complain_error(options->output, &err);
	size_t captured = 0;
	for (size_t i = 0; i < snap->n_threads; i++)
		captured += snap->threads[i].captured;
	printf("%s: %zu of %zu threads, stopped for %.2f ms\n"
	       "It holds the memory of the stacks: treat it as confidential.\n"
	       "Walk it with: snapwalk dump --fixture %s\n",
	       options->output, captured, snap->n_threads, (double) snap->times.stopped_ns / 1e6,
	       options->output);
	return sw_count_missing(snap) == 0 ? SW_STATUS_COMPLETE : SW_STATUS_MISSING;
}

int sw_cmd_record(const struct sw_options *options)
{
	struct sw_subject subject;
	int status = sw_select_one(options, &subject);
	if (status != SW_STATUS_COMPLETE)
		return status;
	struct sw_options only_snapshot = *options; /* no names are needed */
	only_snapshot.symbolize.level = SW_SYMBOLS_NONE;
	struct sw_session session;
	struct sw_error err = {0};
	if (sw_session_init(&session, &only_snapshot, &err) < 0)
		return sw_complain_error("snapwalk", &err);
	status = record(&session, &subject, options);
	sw_session_deinit(&session);
	return status;
}
