/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_CONTINUATION_H
#define SW_HOTSPOT_CONTINUATION_H

#include "runtimes/hotspot/frame.h"

/* Whether these are the stubs that frames of a virtual thread return to when their callers are on the heap. */
bool sw_hotspot_is_continuation_stub(const struct sw_hotspot_blob *blob);

/*
 * The frame that a continuation was entered from, Continuation.run(), where nothing says where its entry is: the
 * first return address into it from sp on. False when there is none close by.
 */
bool sw_hotspot_continuation_caller(const struct sw_hotspot_frame *f, uint64_t sp,
				    struct sw_hotspot_caller *ret);

#endif
