/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory that the window needs, set aside before it. */
#include "runtimes/beam/window.h"
#include "arena.h"
#include "errors.h"
#include "snapshot/snapshot.h"

int sw_beam_before(struct sw_capture *capture)
{
	struct sw_beam_found found;
	if (!sw_beam_find(capture->snap, &found) || found.layout == NULL)
		return 0;
	struct sw_beam_window *w = sw_arena_calloc(&capture->snap->priv->arena, 1, sizeof(*w));
	if (w == NULL)
		return -SW_E_NOMEM;
	w->found = found;
	*capture->found = w;
	uint64_t bias = found.place->bias;
	int r = sw_capture_want(capture, found.active_svma + bias, sizeof(uint32_t));
	if (r == 0)
		r = sw_capture_want(capture, found.exit_svma + bias, 8);
	if (r == 0)
		r = sw_capture_want(capture, found.ranges_svma + bias,
				    (size_t) SW_BEAM_LISTS * SW_BEAM_LIST_WORDS * 8);
	if (r == 0 && found.layout->table_ids != 0 && found.processes_svma != 0)
		r = sw_capture_want(capture, found.processes_svma + bias + found.layout->table_ids,
				    SW_BEAM_IDS_BYTES);
	for (size_t i = 0; i < SW_BEAM_KINDS && r == 0; i++) {
		r = sw_capture_want(capture, found.schedulers_svma[i] + bias, 8);
		if (r == 0)
			r = sw_capture_want(capture, found.counts_svma[i] + bias, 8);
	}
	return r;
}
