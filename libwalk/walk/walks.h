/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WALKS_H
#define SW_WALKS_H

#include "walk/walker.h"

/* sw_walk_all() with other tables than the project's. */
int sw_walk_all_with(const struct sw_snapshot *snap, const struct sw_tables *tables,
		     const struct sw_walk_options *options, struct sw_walks **ret,
		     struct sw_error *err);

/* The two ends of sw_walk_all_with(), for another way to walk. */
int sw_walks_create(const struct sw_snapshot *snap, const struct sw_tables *tables,
		    struct sw_walks **ret, struct sw_error *err);
int sw_walks_identify(struct sw_walks *walks, struct sw_error *err);

/* The unwinder or runtime that found a frame; NULL: it is not known, also in walks that were put
 * together by hand. */
const struct sw_active *sw_walks_owner(const struct sw_walks *walks, const struct sw_frame *frame);

SW_DEFINE_CLEANUP(struct sw_walks *, sw_walks_destroy);

#endif
