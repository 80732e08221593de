/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "slots.h"

void **sw_slots_get(struct sw_slots *slots, const void *key, void (*destroy)(void *))
{
	for (size_t i = 0; i < slots->n; i++)
		if (slots->all[i].key == key)
			return &slots->all[i].value;
	if (slots->n == SW_SLOTS_MAX)
		return NULL;
	slots->all[slots->n] = (struct sw_slot){.key = key, .destroy = destroy};
	return &slots->all[slots->n++].value;
}

void *sw_slots_find(const struct sw_slots *slots, const void *key)
{
	for (size_t i = 0; i < slots->n; i++)
		if (slots->all[i].key == key)
			return slots->all[i].value;
	return NULL;
}

void sw_slots_deinit(struct sw_slots *slots)
{
	while (slots->n > 0) {
		struct sw_slot *slot = &slots->all[--slots->n];
		if (slot->value != NULL && slot->destroy != NULL)
			slot->destroy(slot->value);
	}
}
