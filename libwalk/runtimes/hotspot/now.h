/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_NOW_H
#define SW_HOTSPOT_NOW_H

#include "runtimes/hotspot/structures/hotspot.h"
#include "snapshot/live.h"

/* Whether objects can be read that were not copied in the window: of the running process, or of a core file, which has all
 * of them. */
static inline bool sw_hotspot_has_now(const struct sw_hotspot *h)
{
	const struct sw_snapshot *snap = h->snap;
	return snap->live ||
	       (snap->n_threads > 0 && snap->threads[0].captured_by == SW_CAPTURED_CORE);
}

/* Memory as it is now, read anew; that of a core file does not change. */
static inline struct sw_memory sw_hotspot_now(const struct sw_hotspot *h)
{
	return h->snap->live ? sw_live_memory(h->snap) : h->memory;
}

#endif
