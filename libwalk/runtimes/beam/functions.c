/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Source: erts/emulator/beam/beam_ranges.c and beam_code.h of OTP 25. */
#include "runtimes/beam/functions.h"

#include <string.h>

enum {
	LIST_BYTES = SW_BEAM_LIST_WORDS * 8,
	PAIR_BYTES = 16,
	MAIN_CHUNKS =
		16, /* of a map with code of the JIT that are looked at: shared code is first */
	CHUNK_BYTES = 4096,
	CODE_MAPS_MAX = 8,
	MAIN_START_BYTES = 14,
};

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
		       uint64_t header_avma, uint64_t avma, uint64_t *ret_info_avma,
		       uint64_t *ret_number)
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
	*ret_number = low - 1; /* if there is one */
	return info > header_avma && info % 8 == 0;
}

/*
 *	48 81 ec xx xx xx xx	sub rsp, return_off
 *	48 83 e4 c0		and rsp, -64
 *	48 89 27		mov [rdi], rsp
 */
static uint64_t main_in_chunk(const uint8_t *chunk, const uint8_t *start)
{
	const uint8_t *at = memmem(chunk, CHUNK_BYTES, start, MAIN_START_BYTES);
	return at != NULL ? (uint64_t) (at - chunk) + 1 : 0;
}

uint64_t sw_beam_main_find(struct sw_memory memory, const struct sw_beam_layout *layout,
			   const struct sw_snapshot *snap)
{
	uint8_t start[MAIN_START_BYTES] = {0x48, 0x81, 0xec, 0,    0,    0,    0,
					   0x48, 0x83, 0xe4, 0xc0, 0x48, 0x89, 0x27};
	uint8_t chunk[CHUNK_BYTES];
	start[3] = (uint8_t) layout->return_off;
	start[4] = (uint8_t) (layout->return_off >> 8);
	for (size_t i = 0, n = 0; i < snap->n_maps && n < CODE_MAPS_MAX; i++) {
		const struct sw_map *map = &snap->maps[i];
		if (!sw_beam_is_code(snap, map->start_avma))
			continue;
		n++;
		/* The chunks overlap: the code may lie across a chunk's end. */
		for (size_t k = 0; k < MAIN_CHUNKS; k++) {
			uint64_t at = map->start_avma + k * (CHUNK_BYTES - MAIN_START_BYTES);
			if (at + CHUNK_BYTES > map->end_avma ||
			    !sw_memory_read(memory, at, chunk, sizeof(chunk)))
				break;
			uint64_t found = main_in_chunk(chunk, start);
			if (found != 0)
				return at + found - 1;
		}
	}
	return 0;
}
