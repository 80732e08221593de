/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/go/before.h"
#include "arena.h"
#include "runtimes/go/find.h"
#include "runtimes/go/window.h"
#include "snapshot/module.h"

#include <snapwalk/error.h>

enum { NEW_THREADS = 64 /* that may come until the window */ };

/* Where goroutines are, and how much memory they will take. */
static int lists_find(struct sw_capture *capture, struct sw_go_window *w)
{
	uint64_t n;
	size_t expected = 0;
	w->lists = sw_arena_calloc(&capture->snap->priv->arena, w->modules.n, sizeof(*w->lists));
	if (w->lists == NULL)
		return -SW_E_NOMEM;
	for (size_t i = 0; i < w->modules.n; i++) {
		const struct sw_go_module *m = &w->modules.all[i];
		const struct sw_elf *elf = sw_module_elf(m->place->module);
		struct sw_go_list *list = &w->lists[i];
		list->bias = m->place->bias;
		list->usable = elf != NULL && sw_go_layout_read(elf, &m->image, &list->layout);
		if (list->usable &&
		    sw_memory_u64(capture->memory, list->layout.length_svma + list->bias, &n))
			expected +=
				(n < SW_GO_LIST_MAX ? n : SW_GO_LIST_MAX) * SW_GO_LIST_EACH_BYTES;
	}
	sw_capture_expect(capture, expected);
	return 0;
}

int sw_go_before(struct sw_capture *capture)
{
	struct sw_go_window *w = sw_arena_calloc(&capture->snap->priv->arena, 1, sizeof(*w));
	if (w == NULL)
		return -SW_E_NOMEM;
	sw_go_find(capture->snap, &w->modules);
	if (w->modules.n == 0)
		return 0;
	w->seen_max = 2 * capture->snap->n_threads + NEW_THREADS;
	w->seen = sw_arena_calloc(&capture->snap->priv->arena, w->seen_max, sizeof(*w->seen));
	if (w->seen == NULL)
		return -SW_E_NOMEM;
	for (size_t i = 0; i < w->modules.n; i++) {
		const struct sw_go_module *m = &w->modules.all[i];
		/* A slot is filled before any Go code runs, and stays. A recording needs it, too. */
		w->usable[i] = sw_go_tls_slot(m, capture->memory, 1, &w->offsets[i]);
		if (m->image.tls == SW_GO_TLS_SLOT)
			(void) sw_capture_want(capture,
					       (uint64_t) m->image.tls_value + m->place->bias, 8);
		w->offsets[i]--;
	}
	*capture->found = w;
	return capture->snap->priv->goroutines ? lists_find(capture, w) : 0;
}
