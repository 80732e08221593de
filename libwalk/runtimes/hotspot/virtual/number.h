/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_VIRTUAL_NUMBER_H
#define SW_HOTSPOT_VIRTUAL_NUMBER_H

#include "runtimes/hotspot/structures/hotspot.h"

/* How many virtual threads there are (*ret is zeroed). */
void sw_hotspot_virtual_threads(struct sw_hotspot *h, struct sw_virtual_threads *ret);

#endif
