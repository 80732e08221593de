/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The walks of a snapshot: who takes part, and what they found besides frames. */
#include "snapshot/snapshot.h"
#include "walk/walks.h"
#include "errors.h"
#include "walk/tables.h"

#include <snapwalk/clock.h>
#include <string.h>

enum { RUNTIMES_MAX = 64 };

/* The entries behind n are dropped whose runtime is among the first n. Returns how many there are
 * then. */
static size_t others_keep(struct sw_runtime *found, size_t n, size_t more)
{
	size_t kept = n;
	for (size_t i = n; i < n + more; i++) {
		bool known = false;
		for (size_t k = 0; k < n && !known; k++)
			known = strcmp(found[k].name, found[i].name) == 0;
		if (!known)
			found[kept++] = found[i];
	}
	return kept;
}

/* The runtimes that were identified are kept for the next walks. */
static void identified_keep(struct sw_active_kept *kept, const struct sw_runtime *found, size_t n)
{
	kept->runtimes = calloc(n + 1, sizeof(*found));
	if (kept->runtimes == NULL)
		return; /* they are asked again */
	memcpy(kept->runtimes, found, n * sizeof(*found));
	kept->n_runtimes = n;
}

int sw_walks_identify(struct sw_walks *walks, struct sw_error *err)
{
	const struct sw_active_list *active = &walks->priv->active;
	struct sw_active_kept *kept = sw_active_kept(walks->snap, walks->priv->tables);
	if (kept != NULL && kept->runtimes != NULL) {
		walks->runtimes = kept->runtimes;
		walks->n_runtimes = kept->n_runtimes;
		return 0;
	}
	size_t n = 0;
	struct sw_runtime *found =
		sw_arena_calloc(&walks->priv->arena, RUNTIMES_MAX, sizeof(*found));
	if (found == NULL)
		return sw_fail_nomem(err);
	for (size_t i = 0; i < active->n; i++) {
		size_t more = sw_active_identify(&active->all[i], found + n, RUNTIMES_MAX - n);
		n = others_keep(found, n, more);
	}
	walks->runtimes = found;
	walks->n_runtimes = n;
	if (kept != NULL)
		identified_keep(kept, found, n);
	return 0;
}

static void resource_find(struct sw_walks *walks)
{
	const struct sw_active_list *active = &walks->priv->active;
	for (size_t i = 0; i < active->n; i++) {
		const struct sw_active *a = &active->all[i];
		if (a->runtime == NULL || a->runtime->resource == NULL)
			continue;
		walks->resource = *a->runtime->resource(a->state);
		return;
	}
}

int sw_walks_create(const struct sw_snapshot *snap, const struct sw_tables *tables,
		    struct sw_walks **ret, struct sw_error *err)
{
	sw_cleanup(sw_walks_destroy_p) struct sw_walks *walks = calloc(1, sizeof(*walks));
	if (walks == NULL)
		return sw_fail_nomem(err);
	walks->snap = snap;
	walks->priv = calloc(1, sizeof(*walks->priv));
	walks->walks = calloc(snap->n_threads + 1, sizeof(*walks->walks));
	if (walks->priv == NULL || walks->walks == NULL)
		return sw_fail_nomem(err);
	walks->priv->tables = tables;
	int r = sw_active_attach(snap, tables, &walks->priv->active, err);
	if (r < 0)
		return r;
	resource_find(walks);
	*ret = sw_take_ptr(walks);
	return 0;
}

int sw_walk_all_with(const struct sw_snapshot *snap, const struct sw_tables *tables,
		     const struct sw_walk_options *options, struct sw_walks **ret,
		     struct sw_error *err)
{
	static const struct sw_walk_options defaults = {0};
	int64_t begin_ns = sw_clock_ns();
	sw_cleanup(sw_walks_destroy_p) struct sw_walks *walks = NULL;
	int r = sw_walks_create(snap, tables, &walks, err);
	if (r == 0)
		r = sw_walk_threads(walks, options != NULL ? options : &defaults, err);
	if (r == 0) /* by now they have seen what they need for it */
		r = sw_walks_identify(walks, err);
	if (r < 0)
		return r;
	walks->walk_ns = sw_clock_ns() - begin_ns;
	*ret = sw_take_ptr(walks);
	return 0;
}

int sw_walk_all(const struct sw_snapshot *snap, const struct sw_walk_options *options,
		struct sw_walks **ret, struct sw_error *err)
{
	return sw_walk_all_with(snap, &sw_tables, options, ret, err);
}

void sw_walks_destroy(struct sw_walks *walks)
{
	if (walks == NULL)
		return;
	if (walks->priv != NULL) {
		sw_active_detach(&walks->priv->active);
		sw_arena_deinit(&walks->priv->arena);
	}
	free(walks->priv);
	free(walks->walks);
	free(walks);
}

const struct sw_active *sw_walks_owner(const struct sw_walks *walks, const struct sw_frame *frame)
{
	if (frame->owner == 0 || walks->priv == NULL || frame->owner > walks->priv->active.n)
		return NULL;
	return &walks->priv->active.all[frame->owner - 1];
}

int sw_walk_describe(const struct sw_walks *walks, const struct sw_frame *frame,
		     struct sw_description *ret)
{
	const struct sw_active *owner = sw_walks_owner(walks, frame);
	if (owner == NULL)
		return 0;
	memset(ret, 0, sizeof(*ret));
	return owner->names != NULL ? owner->names(owner->state, frame, ret) : 0;
}

int sw_walk_describe_inlined(const struct sw_walks *walks, const struct sw_frame *frame,
			     size_t level, struct sw_description *ret)
{
	const struct sw_active *owner = sw_walks_owner(walks, frame);
	if (owner == NULL)
		return 0;
	if (owner->runtime == NULL || owner->runtime->inlined == NULL)
		return level == 0 ? sw_walk_describe(walks, frame, ret) : 0;
	memset(ret, 0, sizeof(*ret));
	return owner->runtime->inlined(owner->state, frame, level, ret);
}
