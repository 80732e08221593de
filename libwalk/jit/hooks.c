/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jit/hooks.h"
#include "errors.h"
#include "jit/anchors.h"
#include "snapshot/snapshot.h"
#include "unwind/unwinder.h"

extern const struct sw_unwinder_ops sw_unwind_jit; /* whose state it is */

struct hook_state {
	struct sw_jit_anchors anchors;
	void *sources[SW_JIT_SOURCES_MAX];
};

void *sw_jit_hook_state(const struct sw_snapshot *snap, const struct sw_jit_source_ops *source)
{
	for (size_t i = 0; snap->priv->hook_states != NULL && i < sw_n_unwinders; i++) {
		const struct hook_state *h = snap->priv->hook_states[i];
		for (size_t k = 0;
		     sw_unwinders[i] == &sw_unwind_jit && h != NULL && k < sw_n_jit_sources; k++)
			if (sw_jit_sources[k] == source)
				return h->sources[k];
	}
	return NULL;
}

static struct sw_jit_capture source_capture(struct sw_capture *capture, size_t i)
{
	struct hook_state *h = *capture->state;
	return (struct sw_jit_capture){.capture = capture,
				       .anchors = h->anchors.all + h->anchors.first[i],
				       .n_anchors = h->anchors.count[i],
				       .state = &h->sources[i]};
}

int sw_jit_hooks_prepare(struct sw_capture *capture)
{
	struct sw_arena *arena = &capture->snap->priv->arena;
	struct hook_state *h = sw_arena_calloc(arena, 1, sizeof(*h));
	if (h == NULL || sw_jit_anchors_make(capture->snap, arena, &h->anchors) < 0)
		return -SW_E_NOMEM;
	*capture->state = h;
	int r = h->anchors.limited ? -SW_E_LIMIT : 0;
	for (size_t i = 0; i < sw_n_jit_sources; i++) {
		struct sw_jit_capture c = source_capture(capture, i);
		int one = sw_jit_sources[i]->prepare != NULL ? sw_jit_sources[i]->prepare(&c) : 0;
		r = r < 0 ? r : one;
	}
	return r;
}

int sw_jit_hooks_capture(struct sw_capture *capture)
{
	int r = 0;
	if (*capture->state == NULL) /* prepare had no memory */
		return -SW_E_NOMEM;
	for (size_t i = 0; i < sw_n_jit_sources; i++) {
		struct sw_jit_capture c = source_capture(capture, i);
		int one = sw_jit_sources[i]->capture != NULL ? sw_jit_sources[i]->capture(&c) : 0;
		r = r < 0 ? r : one;
	}
	return r;
}
