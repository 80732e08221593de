/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "obtain.h"

int64_t sw_deadline_ns(const struct sw_options *options, int64_t begin_ns)
{
	if (options->timeout_ms == 0)
		return 0;
	return begin_ns + (int64_t) options->timeout_ms * 1000000;
}

struct sw_pipeline_options sw_obtain_options(const struct sw_options *options, int64_t begin_ns)
{
	struct sw_pipeline_options how = {
		.snapshot = options->snapshot,
		.walk = options->walk,
		.libunwind = options->libunwind,
		.symbolize = options->symbolize,
		.report = {.reason = options->reason, .seq = 1, .begin_ns = begin_ns},
	};
	how.walk.deadline_ns = how.symbolize.deadline_ns = sw_deadline_ns(options, begin_ns);
	return how;
}

int sw_obtain(struct sw_session *session, const struct sw_subject *subject,
	      const struct sw_options *options, const struct sw_pipeline_options *how,
	      struct sw_pipeline *ret, struct sw_error *err)
{
	sw_cleanup(sw_target_close_p) struct sw_target *target = NULL;
	struct sw_origin origin = {.path = subject->path, .exe_path = options->exe};
	*ret = (struct sw_pipeline){0};
	if (subject->kind == SW_WANT_CORE)
		origin.kind = SW_FROM_CORE;
	else if (subject->kind == SW_WANT_FIXTURE)
		origin.kind = SW_FROM_FIXTURE;
	else {
		int r = sw_target_open(subject->pid, &target, err);
		if (r < 0)
			return r;
		origin.kind = SW_FROM_TARGET;
		origin.target = target;
	}
	return sw_pipeline_run(session, &origin, how, ret, err);
}

size_t sw_count_missing(const struct sw_snapshot *snap)
{
	size_t n = 0;
	for (size_t i = 0; i < snap->n_threads; i++) {
		const struct sw_thread *t = &snap->threads[i];
		bool expected = t->reason == 0 || t->reason == SW_E_SKIPPED ||
				t->reason == SW_E_IO_WORKER || t->reason == SW_E_KERNEL_THREAD ||
				t->reason == SW_E_ZOMBIE || t->reason == SW_E_EXITED;
		n += !t->captured && !expected;
	}
	return n;
}
