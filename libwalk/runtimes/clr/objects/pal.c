/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/clr/objects/pal.h"
#include "runtimes/clr/metadata/remote.h"

enum { KIND_MUTEX = 2 };

struct sw_clr_pal sw_clr_pal_of(long major, bool is_windows)
{
	if (is_windows || major < 8 || major > 10)
		return (struct sw_clr_pal){.usable = false};
	if (major == 10)
		return (struct sw_clr_pal){true, 80, 432, 40, 20, 32, 40};
	return (struct sw_clr_pal){true, 176, 536, 48, 36, 48, 56};
}

uint32_t sw_clr_pal_thread(const struct sw_clr_pal *at, struct sw_memory memory, uint64_t avma)
{
	uint64_t tid, self;
	return at->usable && avma % 8 == 0 && sw_clr_u64(memory, avma, at->self, &self) &&
			       self == avma && sw_clr_u64(memory, avma, at->tid, &tid) &&
			       tid <= INT32_MAX
		       ? (uint32_t) tid
		       : 0;
}

bool sw_clr_pal_mutex(const struct sw_clr_pal *at, struct sw_memory memory, uint64_t thread_avma,
		      uint64_t *ret_avma, uint32_t *ret_owner)
{
	uint64_t node, data;
	uint32_t kind, owned, owner;
	if (!sw_clr_u64(memory, thread_avma, at->self + sizeof(uint64_t), &node) ||
	    !sw_clr_u64(memory, node, at->data, &data) || data % 8 != 0 ||
	    !sw_clr_u32(memory, data, at->kind, &kind) || kind != KIND_MUTEX ||
	    !sw_clr_u32(memory, data, at->owned, &owned) || owned == 0 ||
	    !sw_clr_u32(memory, data, at->owner, &owner) || owner == 0)
		return false;
	*ret_avma = data;
	*ret_owner = owner;
	return true;
}
