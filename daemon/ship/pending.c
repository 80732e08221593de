/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ship/pending.h"
#include "cleanup.h"

#include <string.h>

enum { CAPACITY_FIRST = 64 };

static struct sw_ship_wanted *place_of(const struct sw_ship_pending *pending, size_t index)
{
	return &pending->items[(pending->first + index) % pending->capacity];
}

static int grow(struct sw_ship_pending *pending)
{
	const size_t capacity = pending->capacity == 0 ? CAPACITY_FIRST : 2 * pending->capacity;
	struct sw_ship_wanted *items = calloc(capacity, sizeof(*items));
	if (items == NULL)
		return -SW_E_NOMEM;
	for (size_t i = 0; i < pending->n; i++)
		items[i] = *place_of(pending, i);
	free(pending->items);
	pending->items = items;
	pending->first = 0;
	pending->capacity = capacity;
	return 0;
}

int sw_ship_pending_add(struct sw_ship_pending *pending, const char *id, enum sw_ship_kind kind)
{
	if (pending->n == SW_SHIP_PENDING_MAX)
		return -SW_E_LIMIT;
	if (pending->n == pending->capacity && grow(pending) < 0)
		return -SW_E_NOMEM;
	struct sw_ship_wanted *item = place_of(pending, pending->n++);
	(void) snprintf(item->id.text, sizeof(item->id.text), "%s", id); /* it is valid: it fits */
	item->kind = kind;
	return 0;
}

const struct sw_ship_wanted *sw_ship_pending_at(const struct sw_ship_pending *pending, size_t index)
{
	return place_of(pending, index);
}

void sw_ship_pending_drop(struct sw_ship_pending *pending, size_t index)
{
	for (; index > 0; index--)
		*place_of(pending, index) = *place_of(pending, index - 1);
	pending->first = (pending->first + 1) % pending->capacity;
	pending->n--;
}

void sw_ship_pending_deinit(struct sw_ship_pending *pending)
{
	free(pending->items);
	*pending = (struct sw_ship_pending){0};
}
