/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * For which class a thread waits that another one initialises. It waits for the monitor of an object that only the VM has,
 * which does not lead to the class; but InstanceKlass::initialize_impl(), which waits, has the class on the stack. A class that
 * is being initialised says who does it: that thread waits for none of its own. As a class is initialised once, what is read
 * while the process runs was so when the thread began to wait.
 *
 * Source: src/hotspot/share/oops/instanceKlass.cpp (initialize_impl()) of jdk-17.0.15 and jdk-25.0.3; the class was 496 and
 * 584 bytes above sp.
 */
#include "runtimes/hotspot/classes.h"

enum { WORDS_MAX = 256, POINTER_MIN = 1 << 16, POINTER_BITS = 47 };

static bool is_initialized(const struct sw_hotspot *h, uint64_t klass, uint64_t *ret_thread)
{
	uint8_t state;
	uint64_t name;
	return sw_hotspot_u8(h->memory, klass, h->at.klass_init_state, &state) &&
	       state == h->at.state_initializing &&
	       sw_hotspot_u64(h->memory, klass, h->at.klass_init_thread, ret_thread) &&
	       sw_hotspot_u64(h->memory, klass, h->at.klass_name, &name) && name % 8 == 0 &&
	       name >= POINTER_MIN;
}

bool sw_hotspot_initialized_find(const struct sw_hotspot *h, struct sw_memory stack,
				 uint64_t sp_avma, uint64_t end_avma,
				 bool (*is_other)(void *arg, uint64_t thread_avma), void *arg,
				 struct sw_hotspot_initialized *ret)
{
	uint64_t klass, thread;
	bool found = false;
	if (h->at.klass_init_state == SW_HOTSPOT_NONE ||
	    h->at.klass_init_thread == SW_HOTSPOT_NONE ||
	    h->at.state_initializing == SW_HOTSPOT_NONE)
		return false;
	for (size_t i = 0; i < WORDS_MAX && sp_avma + 8 * (i + 1) <= end_avma; i++) {
		if (!sw_memory_u64(stack, sp_avma + 8 * i, &klass) || klass % 8 != 0 ||
		    klass < POINTER_MIN || klass >> POINTER_BITS != 0 ||
		    klass - sp_avma < end_avma - sp_avma || !is_initialized(h, klass, &thread) ||
		    !is_other(arg, thread))
			continue;
		if (found && ret->klass != klass)
			return false;
		*ret = (struct sw_hotspot_initialized){klass, thread};
		found = true;
	}
	return found;
}
