/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_TOP_H
#define SW_HOTSPOT_TOP_H

#include "runtimes/hotspot/frame.h"

/*
 * Code that was interrupted anywhere, so that its frame may not be set up yet, or be gone: what the
 * instructions about pc say. True with the caller; false: the frame is whole, as far as is known.
 */
bool sw_hotspot_top_compiled(const struct sw_hotspot_frame *f, struct sw_hotspot_caller *ret);
bool sw_hotspot_top_stub(const struct sw_hotspot_frame *f, struct sw_hotspot_caller *ret);
bool sw_hotspot_top_interpreter(const struct sw_hotspot_frame *f, struct sw_hotspot_caller *ret);

/* Whether pc is where an interpreted frame begins: the method in rbx has no frame of its own yet. */
bool sw_hotspot_at_entry(struct sw_hotspot *h, const struct sw_hotspot_blob *blob, uint64_t pc);

#endif
