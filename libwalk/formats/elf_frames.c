/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf_frames.h"

/*
 *	0 version 1 | encodings: of the pointer (pcrel sdata4), the number (udata4), the table
 *	(datarel sdata4) | 4 pointer to .eh_frame | 8 number of pairs | 12 pairs: start, entry
 */
enum { KIND = 0x3b031b01, NUMBER_OFF = 8, PAIRS_OFF = 12, PAIR_BYTES = 8, FDE_OFF = 4 };

/* An FDE: 0 size | 4 distance to its CIE | 8 begin (pcrel sdata4) | 12 bytes of code. */
enum { BEGIN_OFF = 8, LENGTH_OFF = 12 };

static int32_t start_at(struct sw_bytes pairs, size_t index)
{
	uint32_t value = 0;
	(void) sw_bytes_u32(pairs, index * PAIR_BYTES, &value); /* inside: see the caller */
	return (int32_t) value;
}

/* The pair for the last start at or below svma. */
static bool pair_find(const struct sw_elf *elf, uint64_t svma, uint64_t *ret_start_svma,
		      uint64_t *ret_fde_svma)
{
	struct sw_elf_segment s;
	struct sw_bytes hdr, pairs;
	uint32_t kind, n, fde = 0;
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
	(void) sw_bytes_u32(pairs, (low - 1) * PAIR_BYTES + FDE_OFF, &fde); /* inside */
	*ret_start_svma = s.svma + (uint64_t) (int64_t) start_at(pairs, low - 1);
	*ret_fde_svma = s.svma + (uint64_t) (int64_t) (int32_t) fde;
	return true;
}

bool sw_elf_frame_start(const struct sw_elf *elf, uint64_t svma, uint64_t *ret_svma)
{
	uint64_t fde_svma;
	return pair_find(elf, svma, ret_svma, &fde_svma);
}

bool sw_elf_frame_range(const struct sw_elf *elf, uint64_t svma, uint64_t *ret_start_svma,
			uint64_t *ret_end_svma)
{
	struct sw_bytes fde;
	uint64_t start_svma, fde_svma;
	uint32_t begin, bytes;
	if (!pair_find(elf, svma, &start_svma, &fde_svma) || !sw_elf_loaded(elf, fde_svma, &fde) ||
	    !sw_bytes_u32(fde, BEGIN_OFF, &begin) || !sw_bytes_u32(fde, LENGTH_OFF, &bytes))
		return false;
	/* With pointers of another kind this is not where it begins. */
	if (fde_svma + BEGIN_OFF + (uint64_t) (int64_t) (int32_t) begin != start_svma ||
	    svma - start_svma >= bytes)
		return false;
	*ret_start_svma = start_svma;
	*ret_end_svma = start_svma + bytes;
	return true;
}
