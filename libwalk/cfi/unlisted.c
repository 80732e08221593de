/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cfi/unlisted.h"

enum { LOOKS_MAX = 1 << 21, TERMINATOR_BYTES = 4 };

/* Entries behind each other; a terminator within the section, as of an object that was linked behind
 * crtend.o, is gone over. */
struct run {
	const struct sw_cfi_frame *frame;
	uint64_t off;
	size_t looks;
};

/* The next FDE's offset. False at the end. */
static bool run_next(struct run *r, uint64_t *ret_off)
{
	const struct sw_cfi_frame *f = r->frame;
	while ((f->end_off == 0 || r->off < f->end_off) && r->looks++ < LOOKS_MAX) {
		bool is_cie;
		uint64_t off = r->off, next;
		int found = sw_cfi_entry_skip(f->section, off, &is_cie, &next);
		if (found < 0 || (found == 0 && f->end_off == 0))
			return false;
		r->off = found == 0 ? off + TERMINATOR_BYTES : next;
		if (found == 0 || is_cie)
			continue;
		*ret_off = off;
		return true;
	}
	return false;
}

/* By itself, or by another one for the same code: identical functions are folded. */
static bool is_listed(const struct sw_cfi_frame *f, uint64_t off, uint64_t start_svma)
{
	uint64_t listed_svma;
	struct sw_cfi_entry listed;
	if (!sw_cfi_table_find(f->table, start_svma, &listed_svma))
		return false;
	if (listed_svma == f->section->svma + off)
		return true;
	return sw_cfi_entry_read(f->section, listed_svma - f->section->svma, &listed) != 1 ||
	       listed.is_cie || listed.start_svma > start_svma || listed.end_svma > start_svma;
}

int sw_cfi_unlisted(const struct sw_cfi_frame *frame, struct sw_cfi_fdes *fdes)
{
	uint64_t off;
	size_t n = 0;
	/* Almost always as many as in the table: that is seen without reading a CIE. */
	for (struct run r = {frame, frame->off, 0}; run_next(&r, &off);)
		n++;
	if (n <= sw_cfi_table_count(frame->table) || frame->section->bytes.size > UINT32_MAX)
		return 0;
	for (struct run r = {frame, frame->off, 0};
	     fdes->n < SW_CFI_FDES_MAX && run_next(&r, &off);) {
		struct sw_cfi_entry e;
		if (sw_cfi_entry_read(frame->section, off, &e) != 1)
			break;
		if (e.start_svma >= e.end_svma || is_listed(frame, off, e.start_svma))
			continue;
		int added = sw_cfi_fdes_put(fdes, &e, (uint32_t) off, 0);
		if (added < 0)
			return added;
	}
	sw_cfi_fdes_sort(fdes);
	return 0;
}
