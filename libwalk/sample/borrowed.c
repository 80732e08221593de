/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sample/borrowed.h"

int sw_borrowed_create(const struct sw_snapshot *base, struct sw_snapshot **ret,
		       struct sw_error *err)
{
	struct sw_snapshot *snap;
	int r = sw_snapshot_create(base->ctx, &snap, err);
	if (r < 0)
		return r;
	snap->process = base->process;
	snap->maps = base->maps;
	snap->n_maps = base->n_maps;
	snap->places = base->places;
	snap->n_places = base->n_places;
	snap->live = true;
	snap->priv->found = base->priv->found;
	snap->priv->pages = base->priv->pages;
	snap->priv->base = base;
	snap->priv->live_dead = true; /* it runs on: what is read later is of another time */
	*ret = snap;
	return 0;
}

void sw_borrowed_destroy(struct sw_snapshot *snap, bool left_behind)
{
	if (snap == NULL)
		return;
	snap->priv->found = (struct sw_slots){0};
	sw_pages_init(&snap->priv->pages);
	snap->priv->pages.left_behind = left_behind;
	sw_snapshot_destroy(snap);
}
