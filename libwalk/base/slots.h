/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_SLOTS_H
#define SW_SLOTS_H

#include <stddef.h>

/*
 * A few values that others keep with an object which does not know them: each under a key, the
 * address of something static of theirs. Zero-initialised is empty.
 */
enum { SW_SLOTS_MAX = 16 };

struct sw_slot {
	const void *key;
	void *value;             /* owned; NULL: nothing yet */
	void (*destroy)(void *); /* frees value; NULL: there is nothing to free */
};

struct sw_slots {
	struct sw_slot all[SW_SLOTS_MAX];
	size_t n;
};

/* The value under key, NULL when it was never asked for; its address holds until sw_slots_deinit().
 * NULL when there are SW_SLOTS_MAX others. */
void **sw_slots_get(struct sw_slots *slots, const void *key, void (*destroy)(void *));

/* The value under key, or NULL. */
void *sw_slots_find(const struct sw_slots *slots, const void *key);

/* Destroys all values, the last one first. */
void sw_slots_deinit(struct sw_slots *slots);

#endif
