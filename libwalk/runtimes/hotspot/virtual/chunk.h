/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_VIRTUAL_CHUNK_H
#define SW_HOTSPOT_VIRTUAL_CHUNK_H

#include "runtimes/hotspot/structures/thread_object.h"

/* A frame: of compiled code, with method 0; else of the interpreter. False: no more are wanted. */
typedef bool sw_hotspot_chunk_frame_fn(void *arg, uint64_t pc, uint64_t method_avma,
				       uint64_t bcp_avma);

/*
 * The frames of a virtual thread that no thread carries, innermost first: they lie in objects of the heap (JDK 21 and later).
 * Memory may be that of the running process: what is read is read twice.
 *
 * @return false: they could not be read to the outermost one, or they changed meanwhile. Then fn may have been called for some.
 */
bool sw_hotspot_chunk_frames(struct sw_hotspot *h, const struct sw_hotspot_thread_layout *layout,
			     struct sw_memory memory, uint64_t object,
			     sw_hotspot_chunk_frame_fn *fn, void *arg);

#endif
