/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_PENDING_H
#define SW_HOTSPOT_PENDING_H

#include "runtimes/hotspot/frame.h"

/*
 * How many words compiled code has pushed below its frame at pc, as far as the instructions from there on say:
 * what they take back and have not pushed themselves. 0: none, or it cannot be known.
 */
size_t sw_hotspot_pending_words(const struct sw_hotspot_frame *f);

#endif
