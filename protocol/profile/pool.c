/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/pool.h"
#include "profile/frame_name.h"

#include <string.h>

void sw_profile_pool_init(struct sw_profile_pool *pool)
{
	*pool = (struct sw_profile_pool){0};
	pool->failed = sw_profile_create(NULL, &pool->tables, NULL) < 0;
}

void sw_profile_pool_deinit(struct sw_profile_pool *pool)
{
	sw_profile_destroy(pool->tables);
	sw_text_deinit(&pool->name);
	*pool = (struct sw_profile_pool){0};
}

uint32_t sw_profile_pool_string(struct sw_profile_pool *pool, const char *s)
{
	uint32_t index = 0;
	if (!pool->failed && sw_profile_string_find(pool->tables, s, true, &index) < 0)
		pool->failed = true;
	return index;
}

uint32_t sw_profile_pool_function(struct sw_profile_pool *pool, const struct sw_profile *p,
				  const struct sw_profile_frame *frame)
{
	struct sw_profile_frame function = {0};
	uint32_t index = 0;
	pool->name.size = 0;
	sw_profile_frame_name(&pool->name, p, frame);
	pool->failed |= pool->name.failed;
	if (pool->failed)
		return 0;
	function.function = sw_profile_pool_string(pool, pool->name.data);
	function.file = sw_profile_pool_string(pool, sw_profile_text_of(p, frame->file));
	if (!pool->failed && sw_profile_frame_find(pool->tables, &function, true, &index) < 0)
		pool->failed = true;
	return index;
}
