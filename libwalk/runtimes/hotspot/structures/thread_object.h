/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_THREAD_OBJECT_H
#define SW_HOTSPOT_THREAD_OBJECT_H

#include "runtimes/hotspot/structures/hotspot.h"
#include "runtimes/hotspot/structures/objects.h"

enum { SW_HOTSPOT_LAYOUT_TRIES = 16 }; /* threads that are looked at for it */

/* Offsets of fields of java.lang.Thread, of what it leads to, and how objects look. */
struct sw_hotspot_thread_layout {
	struct sw_hotspot_objects objects;
	bool usable;
	int64_t name, eetop, tid, daemon, holder, holder_daemon;
	int64_t park_blocker, status, holder_status;
	int64_t value, coder;
	uint64_t string_klass;
};

/* The layout of the process, found out by one of the first JavaThreads that are asked for; NULL:
 * not yet. */
const struct sw_hotspot_thread_layout *sw_hotspot_thread_layout(struct sw_hotspot *h,
								uint64_t thread_avma);
/* Finds it out by a JavaThread. False when that one has no object to be read. */
bool sw_hotspot_thread_layout_find(const struct sw_hotspot *h, uint64_t thread_avma,
				   struct sw_hotspot_thread_layout *layout);

/* The java.lang.Thread of a JavaThread, in that memory. */
bool sw_hotspot_thread_object_find(const struct sw_hotspot *h, const struct sw_hotspot_objects *o,
				   struct sw_memory m, uint64_t thread_avma, uint64_t *ret);

/* The name of a java.lang.Thread, as UTF-8; ret: as large as sw_hotspot_thread_object.name. */
bool sw_hotspot_thread_name_of(const struct sw_hotspot *h, const struct sw_hotspot_thread_layout *l,
			       struct sw_memory m, uint64_t object, char ret[static 128]);

enum sw_hotspot_carrier {
	SW_HOTSPOT_CARRIER_NONE,
	SW_HOTSPOT_CARRIER_IDLE, /* of the scheduler of virtual threads; none is mounted on it */
	SW_HOTSPOT_CARRIER_BUSY, /* a virtual thread is mounted on it */
};

/* The java.lang.Thread of a JavaThread; zeroed, and id -1, when it could not be read. */
struct sw_hotspot_thread_object {
	char name[128]; /* UTF-8, cut to fit; "" when unknown */
	int64_t id;
	bool daemon;
	enum sw_hotspot_carrier carrier;
};

void sw_hotspot_thread_object_read(struct sw_hotspot *h, const struct sw_thread *thread,
				   uint64_t thread_avma, struct sw_hotspot_thread_object *ret);

#endif
