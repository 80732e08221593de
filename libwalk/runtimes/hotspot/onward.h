/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_ONWARD_H
#define SW_HOTSPOT_ONWARD_H

#include "runtimes/hotspot/frame.h"

/*
 * Follows the instructions of the VM's own code from pc to where they leave it: the caller is what all ways
 * lead to. False: there is no such place, or ways differ.
 */
bool sw_hotspot_onward(const struct sw_hotspot_frame *f, struct sw_hotspot_caller *ret);

/* The same, of ways that end in taking an exception to its handler only. */
bool sw_hotspot_throwing(const struct sw_hotspot_frame *f, struct sw_hotspot_caller *ret);

#endif
