/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_ORDER_H
#define SW_CLI_ORDER_H

#include <snapwalk/event.h>

/*
 * Events by their numbers. A CPU takes a number when an event happens and writes its record a moment later, so records of
 * two CPUs may be in another order than their events. An event waits until all before it were there, but no longer than for
 * SW_EVENT_ORDER_TURNS turns of the reader and SW_EVENT_ORDER_MAX others: then those before it are lost.
 */
enum { SW_EVENT_ORDER_TURNS = 2, SW_EVENT_ORDER_MAX = 1024 };

typedef int sw_event_order_tell(void *arg, const struct sw_event *event, uint32_t row,
				struct sw_error *err);

/* Zero-initialised, but for tell and arg, is a valid empty one. */
struct sw_event_order {
	sw_event_order_tell *tell;
	void *arg;
	uint64_t next; /* number of the event that is told next */
	struct sw_event_waits {
		struct sw_event *event; /* owned */
		uint32_t row;
		uint32_t turn; /* when it came */
	} * waits;             /* owned; by number */
	size_t n, capacity;
	uint32_t turn;
};

void sw_event_order_deinit(struct sw_event_order *order);

/* 0; -SW_E_NOMEM; what tell returns. */
int sw_event_order_add(struct sw_event_order *order, const struct sw_event *event, uint32_t row,
		       struct sw_error *err);
/* All records that were there have been read. Likewise. */
int sw_event_order_turn(struct sw_event_order *order, struct sw_error *err);
/* Nothing follows. Likewise. */
int sw_event_order_end(struct sw_event_order *order, struct sw_error *err);

#endif
