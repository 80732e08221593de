/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Source: erts/emulator/beam/beam_ranges.c and beam_code.h of OTP 25. */
#include "runtimes/beam/functions.h"

enum { LIST_BYTES = SW_BEAM_LIST_WORDS * 8, PAIR_BYTES = 16 };

bool sw_beam_list_read(struct sw_memory memory, const struct sw_beam_found *found,
		       struct sw_beam_list *ret)
{
	uint32_t active;
	uint64_t list;
	if (!sw_memory_read(memory, found->active_svma + found->place->bias, &active,
			    sizeof(active)) ||
	    active >= SW_BEAM_LISTS)
		return false;
	list = found->ranges_svma + found->place->bias + (uint64_t) active * LIST_BYTES;
	return sw_memory_u64(memory, list, &ret->avma) &&
	       sw_memory_u64(memory, list + 8, &ret->n) && ret->n <= SW_BEAM_MODULES_MAX;
}

bool sw_beam_module_find(struct sw_memory memory, const struct sw_beam_list *list, uint64_t avma,
			 uint64_t *ret_header_avma)
{
	uint64_t low = 0, high = list->n;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2, pair[2];
		if (!sw_memory_read(memory, list->avma + middle * PAIR_BYTES, pair, sizeof(pair)))
			return false;
		if (avma < pair[0])
			high = middle;
		else if (avma >= pair[1])
			low = middle + 1;
		else {
			*ret_header_avma = pair[0];
			return true;
		}
	}
	return false;
}

bool sw_beam_info_find(struct sw_memory memory, const struct sw_beam_layout *layout,
		       uint64_t header_avma, uint64_t avma, uint64_t *ret_info_avma)
{
	uint64_t n, low = 0, info = 0;
	if (!sw_memory_u64(memory, header_avma, &n) || n > SW_BEAM_FUNCTIONS_MAX)
		return false;
	while (low < n) {
		uint64_t middle = low + (n - low) / 2, at;
		if (!sw_memory_u64(memory, header_avma + layout->header_functions + middle * 8,
				   &at))
			return false;
		if (avma < at) {
			n = middle;
		} else {
			info = at;
			low = middle + 1;
		}
	}
	*ret_info_avma = info;
	return info > header_avma && info % 8 == 0;
}
