/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf_frames.h"

/*
 *	0 version 1 | encodings: of the pointer (pcrel sdata4), the number (udata4), the table
 *	(datarel sdata4) | 4 pointer to .eh_frame | 8 number of pairs | 12 pairs: start, entry
 */
enum { KIND = 0x3b031b01, NUMBER_OFF = 8, PAIRS_OFF = 12, PAIR_BYTES = 8 };

static int32_t start_at(struct sw_bytes pairs, size_t index)
{
	uint32_t value = 0;
	(void) sw_bytes_u32(pairs, index * PAIR_BYTES, &value); /* inside: see the caller */
	return (int32_t) value;
}

bool sw_elf_frame_start(const struct sw_elf *elf, uint64_t svma, uint64_t *ret_svma)
{
	struct sw_elf_segment s;
	struct sw_bytes hdr, pairs;
	uint32_t kind, n;
	if (!sw_elf_segment_typed(elf, PT_GNU_EH_FRAME, &s) ||
	    !sw_bytes_sub(elf->image, s.off, s.file_bytes, &hdr) || !sw_bytes_u32(hdr, 0, &kind) ||
	    kind != KIND || !sw_bytes_u32(hdr, NUMBER_OFF, &n) ||
	    !sw_bytes_sub(hdr, PAIRS_OFF, (uint64_t) n * PAIR_BYTES, &pairs))
		return false;
	int64_t wanted = (int64_t) (svma - s.svma);
	size_t low = 0, high = n;
	while (low < high) { /* the first one behind svma */
		size_t middle = low + (high - low) / 2;
		if (start_at(pairs, middle) <= wanted)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return false;
	*ret_svma = s.svma + (uint64_t) (int64_t) start_at(pairs, low - 1);
	return true;
}
