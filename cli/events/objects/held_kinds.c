/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/objects/held_kinds.h"
#include "events/descriptors.h"
#include "events/mappings.h"
#include "events/objects/epolls.h"
#include "events/objects/shm.h"
#include "events/objects/timers.h"
#include "events/pairs.h"
#include "events/threads.h"

const struct sw_held_kind *sw_held_kind(enum sw_leaks_of of)
{
	switch (of) {
	case SW_LEAKS_FDS: return &sw_held_descriptors;
	case SW_LEAKS_THREADS: return &sw_held_threads;
	case SW_LEAKS_MEMORY:
	case SW_LEAKS_MAPS: return &sw_held_mappings;
	case SW_LEAKS_TIMERS: return &sw_held_timers;
	case SW_LEAKS_SHM: return &sw_held_shm;
	case SW_LEAKS_EPOLL: return &sw_held_epolls;
	case SW_LEAKS_PAIRS: return &sw_held_pairs;
	}
	return NULL;
}
