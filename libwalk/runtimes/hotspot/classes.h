/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_CLASSES_H
#define SW_HOTSPOT_CLASSES_H

#include "runtimes/hotspot/structures/hotspot.h"

/* A class that a thread initialises. */
struct sw_hotspot_initialized {
	uint64_t klass;
	uint64_t thread_avma; /* the JavaThread that does */
};

/*
 * The class for whose initialisation a thread waits, of one that waits for something and has its stack at [sp, end).
 *
 * @param stack      Memory with that stack, of the instant at which it waited.
 * @param is_other   Whether a word is another JavaThread of the process.
 * @return false: there is none, or more than one may be it.
 */
bool sw_hotspot_initialized_find(const struct sw_hotspot *h, struct sw_memory stack,
				 uint64_t sp_avma, uint64_t end_avma,
				 bool (*is_other)(void *arg, uint64_t thread_avma), void *arg,
				 struct sw_hotspot_initialized *ret);

#endif
