/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * JavaThreads lie in an array since 10. Versions 8 to 13 publish the first one; each leads to the
 * next. Source: src/hotspot/share/runtime/threadSMR.hpp of jdk-17.0.15; thread.hpp and
 * vmStructs.cpp of jdk8u504 and jdk-11.0.33.
 */
#include "runtimes/hotspot/published/thread_list.h"

bool sw_hotspot_thread_list_begin(const struct sw_hotspot_layout *at, uint64_t bias,
				  struct sw_memory memory, struct sw_hotspot_thread_list *ret)
{
	uint64_t list;
	uint32_t n;
	int64_t svma = sw_hotspot_thread_list_svma(at);
	*ret = (struct sw_hotspot_thread_list){.at = at, .memory = memory};
	if (svma == SW_HOTSPOT_NONE || !sw_memory_u64(memory, bias + (uint64_t) svma, &list) ||
	    list == 0)
		return false;
	ret->chained = svma != at->thread_list;
	ret->next_avma = list;
	if (ret->chained)
		return true;
	if (!sw_memory_read(memory, list + (uint64_t) at->list_length, &n, sizeof(n)) ||
	    !sw_memory_u64(memory, list + (uint64_t) at->list_threads, &ret->next_avma))
		return false;
	ret->left = n;
	return true;
}

bool sw_hotspot_thread_list_next(struct sw_hotspot_thread_list *list, uint64_t *ret_avma)
{
	uint64_t avma = list->next_avma;
	if (list->chained) {
		if (avma == 0 || avma % 8 != 0)
			return false;
		if (!sw_memory_u64(list->memory, avma + (uint64_t) list->at->thread_next,
				   &list->next_avma))
			list->next_avma = 0;
		*ret_avma = avma;
		return true;
	}
	if (list->left == 0 || !sw_memory_u64(list->memory, avma, ret_avma))
		return false;
	list->left--;
	list->next_avma += 8;
	return true;
}
