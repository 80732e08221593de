/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "obtain.h"

int64_t sw_deadline_ns(const struct sw_options *options, int64_t begin_ns)
{
	if (options->timeout_ms == 0)
		return 0;
	return begin_ns + (int64_t) options->timeout_ms * 1000000;
}

int sw_session_init(struct sw_session *ret, const struct sw_options *options, struct sw_error *err)
{
	*ret = (struct sw_session){0};
	int r = sw_context_create(&ret->ctx, err);
	if (r == 0 && options->symbolize.level != SW_SYMBOLS_NONE)
		r = sw_symbolizer_create(ret->ctx, &ret->symbolizer, err);
	if (r < 0)
		sw_session_deinit(ret);
	return r;
}

void sw_session_deinit(struct sw_session *session)
{
	if (session->symbolizer != NULL)
		sw_symbolizer_destroy(session->symbolizer);
	if (session->ctx != NULL)
		sw_context_destroy(session->ctx);
	*session = (struct sw_session){0};
}

int sw_obtain_snapshot(struct sw_session *session, const struct sw_subject *subject,
		       const struct sw_options *options, struct sw_snapshot **ret,
		       struct sw_error *err)
{
	if (subject->kind == SW_WANT_CORE)
		return sw_snapshot_from_core(session->ctx, subject->path, options->exe, ret, err);
	if (subject->kind == SW_WANT_FIXTURE)
		return sw_snapshot_load(session->ctx, subject->path, ret, err);
	sw_cleanup(sw_target_close_p) struct sw_target *target = NULL;
	int r = sw_target_open(subject->pid, &target, err);
	if (r < 0)
		return r;
	return sw_snapshot_take(session->ctx, target, &options->snapshot, ret, err);
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

int sw_obtain_report(struct sw_session *session, const struct sw_subject *subject,
		     const struct sw_options *options, int64_t begin_ns, uint64_t seq,
		     struct sw_obtained *ret, struct sw_error *err)
{
	*ret = (struct sw_obtained){0};
	int r = sw_obtain_snapshot(session, subject, options, &ret->snap, err);
	if (r < 0)
		return r;
	struct sw_walk_options walk = options->walk;
	walk.deadline_ns = sw_deadline_ns(options, begin_ns);
	r = options->libunwind ? sw_walk_libunwind(ret->snap, &walk, &ret->walks, err)
			       : sw_walk_all(ret->snap, &walk, &ret->walks, err);
	if (r == 0 && session->symbolizer != NULL) {
		struct sw_symbolize_options symbolize = options->symbolize;
		symbolize.deadline_ns = walk.deadline_ns;
		r = sw_symbolize(session->symbolizer, ret->walks, &symbolize, &ret->symbols, err);
	}
	if (r == 0) {
		struct sw_report_options report = {.reason = options->reason,
						   .seq = seq,
						   .begin_ns = begin_ns};
		r = sw_report_build(ret->walks, ret->symbols, &report, &ret->report, err);
	}
	if (r < 0)
		sw_obtained_deinit(ret);
	return r;
}

void sw_obtained_deinit(struct sw_obtained *obtained)
{
	if (obtained->report != NULL)
		sw_report_destroy(obtained->report);
	if (obtained->symbols != NULL)
		sw_symbols_destroy(obtained->symbols);
	if (obtained->walks != NULL)
		sw_walks_destroy(obtained->walks);
	if (obtained->snap != NULL)
		sw_snapshot_destroy(obtained->snap);
	*obtained = (struct sw_obtained){0};
}
