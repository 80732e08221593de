/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The walks of a snapshot: the unwinders' states, who walks, what the unwinders found besides. */
#include "walk/walker.h"
#include "errors.h"
#include "compare/libunwind.h"

#include <snapwalk/clock.h>
#include <string.h>

enum { RUNTIMES_MAX = 64 };

/* After the walks: by then the unwinders have seen what they need. */
static int runtimes_recognise(struct sw_walks *walks, struct sw_error *err)
{
	size_t n = 0;
	struct sw_runtime *found =
		sw_arena_calloc(&walks->priv->arena, RUNTIMES_MAX, sizeof(*found));
	if (found == NULL)
		return sw_fail_nomem(err);
	for (size_t i = 0; i < sw_n_unwinders; i++)
		if (sw_unwinders[i]->recognise != NULL)
			n += sw_unwinders[i]->recognise(walks->priv->states[i], found + n,
							RUNTIMES_MAX - n);
	walks->runtimes = found;
	walks->n_runtimes = n;
	return 0;
}

int sw_states_attach(const struct sw_snapshot *snap, void *states[SW_UNWINDERS_MAX],
		     struct sw_error *err)
{
	for (size_t i = 0; i < sw_n_unwinders; i++) {
		if (sw_unwinders[i]->attach == NULL)
			continue;
		int r = sw_unwinders[i]->attach(snap, &states[i]);
		if (r < 0)
			return sw_fail(err, -r, "%s: %s", sw_unwinders[i]->name, sw_error_text(r));
	}
	return 0;
}

void sw_states_detach(void *states[SW_UNWINDERS_MAX])
{
	for (size_t i = 0; i < sw_n_unwinders; i++)
		if (sw_unwinders[i]->detach != NULL)
			sw_unwinders[i]->detach(states[i]);
}

static int walks_create(const struct sw_snapshot *snap, struct sw_walks **ret, struct sw_error *err)
{
	sw_cleanup(sw_walks_destroy_p) struct sw_walks *walks = calloc(1, sizeof(*walks));
	if (walks == NULL)
		return sw_fail_nomem(err);
	walks->snap = snap;
	walks->priv = calloc(1, sizeof(*walks->priv));
	walks->walks = calloc(snap->n_threads + 1, sizeof(*walks->walks));
	if (walks->priv == NULL || walks->walks == NULL)
		return sw_fail_nomem(err);
	int r = sw_states_attach(snap, walks->priv->states, err);
	if (r < 0)
		return r;
	*ret = sw_take_ptr(walks);
	return 0;
}

int sw_walk_all(const struct sw_snapshot *snap, const struct sw_walk_options *options,
		struct sw_walks **ret, struct sw_error *err)
{
	static const struct sw_walk_options defaults = {0};
	const struct sw_walk_options *o = options != NULL ? options : &defaults;
	int64_t begin_ns = sw_clock_ns();
	sw_cleanup(sw_walks_destroy_p) struct sw_walks *walks = NULL;
	int r = walks_create(snap, &walks, err);
	if (r < 0)
		return r;
	r = o->mode == SW_WALK_LIBUNWIND ? sw_walk_libunwind(walks, o, err)
					 : sw_walk_threads(walks, o, err);
	if (r == 0)
		r = runtimes_recognise(walks, err);
	if (r < 0)
		return r;
	walks->walk_ns = sw_clock_ns() - begin_ns;
	*ret = sw_take_ptr(walks);
	return 0;
}

void sw_walks_destroy(struct sw_walks *walks)
{
	if (walks == NULL)
		return;
	if (walks->priv != NULL) {
		sw_states_detach(walks->priv->states);
		sw_arena_deinit(&walks->priv->arena);
	}
	free(walks->priv);
	free(walks->walks);
	free(walks);
}

int sw_walk_describe(const struct sw_walks *walks, const struct sw_frame *frame,
		     struct sw_description *ret)
{
	if (frame->owner == 0 || frame->owner > sw_n_unwinders)
		return 0;
	const struct sw_unwinder_ops *ops = sw_unwinders[frame->owner - 1];
	memset(ret, 0, sizeof(*ret));
	if (ops->describe == NULL)
		return 0;
	return ops->describe(walks->priv->states[frame->owner - 1], frame, ret);
}
