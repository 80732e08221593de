/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "walk/unthreaded.h"
#include "text.h"
#include "walk/walker.h"

struct sw_walk *sw_walk_of_thread(const struct sw_walks *walks, pid_t tid)
{
	for (size_t i = 0; tid != 0 && i < walks->n_walks && walks->walks[i].thread != NULL; i++)
		if (walks->walks[i].thread->tid == tid)
			return &walks->walks[i];
	return NULL;
}

struct sw_walk *sw_walk_more(struct sw_walks *walks, size_t *capacity)
{
	struct sw_walk *grown =
		sw_grow(walks->walks, walks->n_walks, capacity, 256, sizeof(*grown));
	if (grown == NULL)
		return NULL;
	walks->walks = grown;
	return &walks->walks[walks->n_walks++];
}

const char *sw_walk_left_why(struct sw_walks *walks, size_t n, const char *what, const char *why)
{
	if (n == 0)
		return why;
	return sw_arena_printf(&walks->priv->arena, "%zu %s%s could not be read where %s%s%s", n,
			       what, sw_plural(n), n == 1 ? "it was" : "they were",
			       why != NULL ? "; " : "", why != NULL ? why : "");
}
