/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/order.h"
#include "arena.h"
#include "errors.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Text and bytes of the event are put behind the copy. Only handles that are there are copied: most events have one. */
static struct sw_event *copy(const struct sw_event *event)
{
	const size_t first = offsetof(struct sw_event, handles);
	const size_t rest = first + sizeof(event->handles);
	struct sw_event *to = malloc(sizeof(*to) + event->text_size + event->bytes_size);
	if (to == NULL)
		return NULL;
	memcpy(to, event, first + event->n_handles * sizeof(event->handles[0]));
	memcpy((char *) to + rest, (const char *) event + rest, sizeof(*event) - rest);
	char *behind = (char *) (to + 1);
	if (event->text != NULL)
		to->text = memcpy(behind, event->text, event->text_size);
	if (event->bytes != NULL)
		to->bytes = memcpy(behind + event->text_size, event->bytes, event->bytes_size);
	return to;
}

static void waits_drop(struct sw_event_order *o, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(o->waits[i].event);
	o->n -= n;
	memmove(o->waits, o->waits + n, o->n * sizeof(*o->waits));
}

void sw_event_order_deinit(struct sw_event_order *o)
{
	if (o->waits != NULL)
		waits_drop(o, o->n);
	free(o->waits);
	o->waits = NULL;
}

static int wait(struct sw_event_order *o, const struct sw_event *event, uint32_t row)
{
	struct sw_event_waits *grown = sw_grow(o->waits, o->n, &o->capacity, 16, sizeof(*grown));
	if (grown == NULL)
		return -SW_E_NOMEM;
	o->waits = grown;
	struct sw_event *kept = copy(event);
	if (kept == NULL)
		return -SW_E_NOMEM;
	size_t at = o->n;
	while (at > 0 && o->waits[at - 1].event->number > event->number)
		at--;
	memmove(&o->waits[at + 1], &o->waits[at], (o->n - at) * sizeof(*o->waits));
	o->waits[at] = (struct sw_event_waits){.event = kept, .row = row, .turn = o->turn};
	o->n++;
	return 0;
}

/* Tells the first n that wait, and those that follow them without a gap. */
static int tell(struct sw_event_order *o, size_t n, struct sw_error *err)
{
	size_t i = 0;
	int r = 0;
	for (; r == 0 && i < o->n; i++) {
		const struct sw_event_waits *w = &o->waits[i];
		if (i >= n && w->event->number > o->next)
			break;
		o->next = w->event->number + 1;
		r = o->tell(o->arg, w->event, w->row, err);
	}
	if (i > 0)
		waits_drop(o, i);
	return r;
}

int sw_event_order_add(struct sw_event_order *o, const struct sw_event *event, uint32_t row,
		       struct sw_error *err)
{
	if (event->number > o->next) {
		if (wait(o, event, row) < 0)
			return sw_fail_nomem(err);
		return o->n < SW_EVENT_ORDER_MAX ? 0 : tell(o, o->n, err);
	}
	if (event->number == o->next) /* else it comes when nobody waits for it any more */
		o->next++;
	int r = o->tell(o->arg, event, row, err);
	return r == 0 && o->n > 0 ? tell(o, 0, err) : r;
}

int sw_event_order_turn(struct sw_event_order *o, struct sw_error *err)
{
	size_t n = 0;
	o->turn++;
	for (size_t i = 0; i < o->n; i++)
		if (o->turn - o->waits[i].turn > SW_EVENT_ORDER_TURNS)
			n = i + 1;
	return n > 0 ? tell(o, n, err) : 0;
}

int sw_event_order_end(struct sw_event_order *o, struct sw_error *err)
{
	return o->n > 0 ? tell(o, o->n, err) : 0;
}
