/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_OWNERS_H
#define SW_HOTSPOT_OWNERS_H

#include "runtimes/hotspot/structures/thread_object.h"
#include "unwind/runtime.h"

/*
 * A virtual thread that no thread carries, as the owner of a lock. It is read when the process has gone on: who asks looks
 * again whether it still has the lock. Text is "NAME (#ID)", or "#ID" of one without a name.
 */

/* By its object. False: that is no virtual thread, or cannot be read. */
bool sw_hotspot_virtual_name(const struct sw_hotspot *h,
			     const struct sw_hotspot_thread_layout *layout, struct sw_memory memory,
			     uint64_t object, char *ret, size_t size);

/* By its id, among those that the VM lists. False: none of these has it, or there are too many. */
bool sw_hotspot_virtual_name_by_id(const struct sw_hotspot *h,
				   const struct sw_hotspot_thread_layout *layout,
				   struct sw_memory memory, uint64_t id, uint64_t *ret_object,
				   char *ret, size_t size);

/* Keeps one for which a thread waits, for its stack to be shown, too. Those behind the first SW_HOTSPOT_OWNERS_MAX are told by
 * name alone. */
enum { SW_HOTSPOT_OWNERS_MAX = 16 };
void sw_hotspot_owner_keep(struct sw_hotspot *h, uint64_t object, const char *name);
size_t sw_hotspot_owners(const struct sw_hotspot *h);
/* As sw_runtime_ops.task. */
bool sw_hotspot_owner_show(struct sw_hotspot *h, size_t n, struct sw_runtime_task *ret,
			   struct sw_frame_sink *sink);

#endif
