/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_JIT_CAPTURE_H
#define SW_JIT_CAPTURE_H

#include "jit/hooks.h"

/* From hook to hook: what leads to registries, and what each source keeps. */
struct sw_jit_hooks {
	struct sw_jit_roots roots;
	void *sources[SW_JIT_SOURCES_MAX];
};

/* The argument of the hooks of source number i. */
static inline struct sw_jit_capture sw_jit_capture_of(struct sw_capture *capture, size_t i)
{
	struct sw_jit_hooks *h = *capture->found;
	return (struct sw_jit_capture){.capture = capture,
				       .roots = h->roots.all + h->roots.first[i],
				       .n_roots = h->roots.count[i],
				       .state = &h->sources[i]};
}

/* The hook in the window: those of all sources. */
int sw_jit_capture_all(struct sw_capture *capture);

#endif
