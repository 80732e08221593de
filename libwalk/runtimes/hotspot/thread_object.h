/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_THREAD_OBJECT_H
#define SW_HOTSPOT_THREAD_OBJECT_H

#include "runtimes/hotspot/hotspot.h"

/* What java.lang.Thread says of a JavaThread; zeroed, and id -1, when it could not be read. */
struct sw_hotspot_thread_object {
	char name[128]; /* UTF-8, cut to fit; "" when unknown */
	int64_t id;
	bool daemon;
	bool carrier; /* a virtual thread is mounted on it */
};

void sw_hotspot_thread_object_read(struct sw_hotspot *h, const struct sw_thread *thread,
				   uint64_t thread_avma, struct sw_hotspot_thread_object *ret);

#endif
