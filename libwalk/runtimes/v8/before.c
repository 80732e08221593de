/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/v8/before.h"
#include "arena.h"
#include "runtimes/v8/find.h"
#include "runtimes/v8/window.h"
#include "snapshot/bias.h"
#include "snapshot/snapshot.h"

#include <snapwalk/error.h>

/* Return addresses in a mapping of the builtins, which begins at from in the file. */
static void deopts_note(struct sw_v8_window *w, const struct sw_v8_program *p,
			const struct sw_map *m, uint64_t from)
{
	for (size_t i = 0; i < p->n_deopts && w->n_deopts < SW_V8_WINDOW_DEOPTS_MAX; i++) {
		uint64_t off = p->blob_off + p->builtins[p->deopt_builtins[i]].off +
			       p->deopts[i].compute_off;
		if (off < from || off - from >= m->end_avma - m->start_avma)
			continue;
		w->deopts[w->n_deopts] = p->deopts[i];
		w->deopt_avmas[w->n_deopts++] = m->start_avma + (off - from);
	}
}

int sw_v8_before(struct sw_capture *capture)
{
	struct sw_place *place;
	const struct sw_snapshot *snap = capture->snap;
	const struct sw_v8_program *p = sw_v8_find(snap, &place);
	if (p == NULL || !p->usable)
		return 0;
	struct sw_v8_window *w = sw_arena_calloc(&snap->priv->arena, 1, sizeof(*w));
	if (w == NULL)
		return -SW_E_NOMEM;
	w->at = p->at;
	w->blocks = (struct sw_copied_blocks){.slots = w->slots,
					      .n_slots = SW_V8_WINDOW_BLOCK_SLOTS,
					      .block_bytes = SW_V8_WINDOW_BLOCK_BYTES,
					      .max = SW_V8_WINDOW_BLOCKS_MAX,
					      .once = true};
	w->awaits = snap->priv->awaits || snap->priv->tasks;
	w->wasm_state_avma = sw_v8_wasm_state(snap, p, place);
	w->microtasks = sw_v8_microtasks_of(snap, p, place);
	sw_v8_loop_find(capture, p, place, &w->loop);
	size_t n = 0;
	for (size_t i = 0; i < snap->n_maps; i++)
		n += (snap->maps[i].prot & SW_MAP_EXEC) != 0;
	w->ranges = sw_arena_calloc(&snap->priv->arena, n + 1, sizeof(w->ranges[0]));
	if (w->ranges == NULL)
		return -SW_E_NOMEM;
	for (size_t i = 0; i < snap->n_maps; i++) {
		const struct sw_map *m = &snap->maps[i];
		uint64_t from, bytes = m->end_avma - m->start_avma;
		bool made = sw_v8_is_made(snap, m->start_avma);
		if (!(m->prot & SW_MAP_EXEC) ||
		    (!made && (m->place < 0 || snap->places[m->place].module != place->module ||
			       !sw_map_file_off(snap, m, m->start_avma, &from) ||
			       from + bytes <= p->blob_off || from >= p->blob_off + p->blob.size)))
			continue;
		w->ranges[w->n_ranges++] = (struct sw_v8_range){m->start_avma, m->end_avma, made};
		if (!made)
			deopts_note(w, p, m, from);
	}
	*capture->found = w;
	return 0;
}
