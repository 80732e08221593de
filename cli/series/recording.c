/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "series/recording.h"
#include "run/obtain.h"
#include "run/sampled_files.h"

#include <snapwalk/clock.h>

struct sw_recorder_options sw_recording_options(const struct sw_options *options)
{
	struct sw_recorder_options how = {
		.mode = options->mode,
		.rate_hz = options->rate_hz,
		.how = sw_obtain_options(options, sw_clock_ns()),
	};
	sw_sampled_files_use(options, &how.how.symbolize);
	return how;
}

int sw_recording_open(const struct sw_subject *subject, const struct sw_options *options,
		      struct sw_session *session, const struct sw_recorder_sink *sink,
		      struct sw_recorder **ret, struct sw_error *err)
{
	const struct sw_recorder_options how = sw_recording_options(options);
	struct sw_target *target = NULL;
	int r = sw_target_open(subject->pid, &target, err);
	sw_sampled_files_of(subject->pid);
	return r < 0 ? r : sw_recorder_create(target, &how, session, sink, ret, err);
}
