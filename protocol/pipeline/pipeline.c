/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "errors.h"

#include <snapwalk/clock.h>
#include <snapwalk/pipeline.h>

#include <stdlib.h>

enum { NAMES_PART = 4 }; /* of the limit */

struct sw_session {
	struct sw_context *ctx;           /* owned */
	struct sw_symbolizer *symbolizer; /* owned; NULL until names are asked for */
};

int sw_session_create(struct sw_session **ret, struct sw_error *err)
{
	struct sw_session *session = calloc(1, sizeof(*session));
	if (session == NULL)
		return sw_fail_nomem(err);
	int r = sw_context_create(&session->ctx, err);
	if (r < 0)
		sw_session_destroy(session);
	else
		*ret = session;
	return r;
}

void sw_session_destroy(struct sw_session *session)
{
	if (session == NULL)
		return;
	if (session->symbolizer != NULL)
		sw_symbolizer_destroy(session->symbolizer);
	if (session->ctx != NULL)
		sw_context_destroy(session->ctx);
	free(session);
}

struct sw_context *sw_session_context(const struct sw_session *session)
{
	return session->ctx;
}

int sw_session_symbolizer(struct sw_session *session, struct sw_symbolizer **ret,
			  struct sw_error *err)
{
	if (session->symbolizer == NULL) {
		int r = sw_symbolizer_create(session->ctx, &session->symbolizer, err);
		if (r < 0)
			return r;
	}
	*ret = session->symbolizer;
	return 0;
}

static int snapshot_make(struct sw_session *session, const struct sw_origin *origin,
			 const struct sw_pipeline_options *options, struct sw_snapshot **ret,
			 struct sw_error *err)
{
	switch (origin->kind) {
	case SW_FROM_TARGET:
		return sw_snapshot_take(session->ctx, origin->target, &options->snapshot, ret, err);
	case SW_FROM_CORE:
		return sw_snapshot_from_dump(session->ctx, origin->path, &origin->core, ret, err);
	case SW_FROM_FIXTURE: return sw_snapshot_load(session->ctx, origin->path, ret, err);
	default: return sw_fail(err, SW_E_INVALID, "no snapshot is made of that");
	}
}

static int take(struct sw_session *session, const struct sw_origin *origin,
		const struct sw_pipeline_options *options, struct sw_pipeline *p,
		struct sw_error *err)
{
	if (origin->kind == SW_FROM_SNAPSHOT) {
		p->snap = origin->snapshot;
		p->snap_borrowed = true;
		return 0;
	}
	int r = snapshot_make(session, origin, options, &p->snap, err);
	if (r == 0 && options->resumed != NULL)
		r = options->resumed(options->resumed_arg, p->snap, err);
	return r;
}

static int64_t sooner(int64_t deadline_ns, int64_t end_ns)
{
	return end_ns != 0 && end_ns < deadline_ns ? end_ns : deadline_ns;
}

static int walk(const struct sw_pipeline_options *options, int64_t begin_ns, struct sw_pipeline *p,
		struct sw_error *err)
{
	struct sw_walk_options o = options->walk;
	if (options->limit_ns > 0)
		o.deadline_ns = sooner(begin_ns + options->limit_ns, options->end_ns);
	return options->libunwind ? sw_walk_libunwind(p->snap, &o, &p->walks, err)
				  : sw_walk_all(p->snap, &o, &p->walks, err);
}

/* begin_ns: of the walk. */
static int64_t names_end(const struct sw_pipeline_options *options, int64_t begin_ns)
{
	int64_t end_ns = begin_ns + options->limit_ns;
	int64_t least_ns = sw_clock_ns() + options->limit_ns / NAMES_PART;
	if (options->limit_ns <= 0)
		return options->symbolize.deadline_ns;
	return sooner(end_ns > least_ns ? end_ns : least_ns, options->end_ns);
}

static int name(struct sw_session *session, const struct sw_pipeline_options *options,
		int64_t begin_ns, struct sw_pipeline *p, struct sw_error *err)
{
	struct sw_symbolizer *symbolizer;
	struct sw_symbolize_options o = options->symbolize;
	o.deadline_ns = names_end(options, begin_ns);
	int r = sw_session_symbolizer(session, &symbolizer, err);
	return r < 0 ? r : sw_symbolize(symbolizer, p->walks, &o, &p->symbols, err);
}

int sw_pipeline_run(struct sw_session *session, const struct sw_origin *origin,
		    const struct sw_pipeline_options *options, struct sw_pipeline *ret,
		    struct sw_error *err)
{
	*ret = (struct sw_pipeline){0};
	int r = take(session, origin, options, ret, err);
	int64_t begin_ns = sw_clock_ns();
	if (r == 0 && options->last <= SW_PIPELINE_WALK)
		r = walk(options, begin_ns, ret, err);
	if (r == 0 && options->last <= SW_PIPELINE_NAME)
		r = name(session, options, begin_ns, ret, err);
	if (r == 0 && options->last <= SW_PIPELINE_REPORT)
		r = sw_report_build(ret->walks, ret->symbols, &options->report, &ret->report, err);
	if (r < 0)
		sw_pipeline_deinit(ret);
	return r;
}

void sw_pipeline_deinit(struct sw_pipeline *pipeline)
{
	if (pipeline->report != NULL)
		sw_report_destroy(pipeline->report);
	if (pipeline->symbols != NULL)
		sw_symbols_destroy(pipeline->symbols);
	if (pipeline->walks != NULL)
		sw_walks_destroy(pipeline->walks);
	if (pipeline->snap != NULL && !pipeline->snap_borrowed)
		sw_snapshot_destroy(pipeline->snap);
	*pipeline = (struct sw_pipeline){0};
}
