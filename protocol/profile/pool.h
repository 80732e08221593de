/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PROFILE_POOL_H
#define SW_PROFILE_POOL_H

#include "profile/tables.h"
#include "text.h"

/* The strings and functions that a format has tables of: only those that are used. Out of memory is
 * remembered in failed, and 0 given. */
struct sw_profile_pool {
	struct sw_profile *tables; /* owned; of frames function and file are set: a function */
	struct sw_text name;       /* reused */
	bool failed;
};

void sw_profile_pool_init(struct sw_profile_pool *pool);
void sw_profile_pool_deinit(struct sw_profile_pool *pool);

/* The index of a string in tables->strings; "" is 0. */
uint32_t sw_profile_pool_string(struct sw_profile_pool *pool, const char *s);

/* The function of a frame, by name and file: its index in tables->frames, from 1. */
uint32_t sw_profile_pool_function(struct sw_profile_pool *pool, const struct sw_profile *p,
				  const struct sw_profile_frame *frame);

#endif
