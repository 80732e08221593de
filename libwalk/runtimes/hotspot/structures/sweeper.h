/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_SWEEPER_H
#define SW_HOTSPOT_SWEEPER_H

#include "runtimes/hotspot/structures/hotspot.h"

/*
 * The sweeper, until JDK 19, is the one thread of the VM that frees compiled code which nothing executes any more. It
 * sleeps nearly always: code that is there after the copy was there before it, where the thread did not run in between.
 */

/* Finds the thread, and how often it has run. */
void sw_hotspot_sweeper_find(struct sw_hotspot *h);

/* Whether it has slept since before the copy that is looked at was made. */
bool sw_hotspot_sweeper_slept(struct sw_hotspot *h);

/* Reads from proc(5)'s status how often a thread has stopped running. False: it runs, or that is not known. */
bool sw_hotspot_sweeper_parse(const char *status, uint64_t *ret);

#endif
