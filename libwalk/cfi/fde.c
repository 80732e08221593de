/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Call frame information in sections of any kind and with pointers of any kind. libdw is to find the
 * row, but it does not know what such pointers count from (elfutils 0.188, cfi.c: textrel is always 0),
 * and in a file it looks no further than the search table. So each FDE is written down once more as
 * .debug_frame has them, with plain addresses:
 *
 *	CIE: length | 0xffffffff | version | "" or "S" | columns | instructions
 *	FDE: length | 0 (the CIE) | start | size | instructions
 */
#include "cfi/fde.h"
#include "cleanup.h"
#include "cfi/debug_frame.h"
#include "errors.h"

#include <dwarf.h>

enum { PROGRAM_MAX = 1 << 20, FDES_FIRST = 16 };

struct writer {
	uint8_t *bytes; /* owned; NULL: only counts */
	size_t size;
};

static void put(struct writer *w, const void *bytes, size_t size)
{
	if (w->bytes != NULL && size > 0)
		memcpy(w->bytes + w->size, bytes, size);
	w->size += size;
}

static void put_bytes(struct writer *w, struct sw_bytes bytes)
{
	put(w, bytes.data, bytes.size);
}

/* Up to a multiple of 8, with DW_CFA_nop, and the length at its start. */
static void end_entry(struct writer *w, size_t start)
{
	static const uint8_t nops[7] = {0};
	put(w, nops, -w->size & 7);
	uint32_t length = (uint32_t) (w->size - start - sizeof(length));
	if (w->bytes != NULL)
		memcpy(w->bytes + start, &length, sizeof(length));
}

static void write_pair(struct writer *w, const struct sw_cfi_entry *e)
{
	static const uint32_t cie_id = 0xffffffff, cie_off = 0, length = 0;
	const uint8_t sizes[2] = {e->is_32bit ? 4 : 8, 0}; /* version 4: addresses, segments */
	uint64_t bytes = e->end_svma - e->start_svma;
	put(w, &length, sizeof(length));
	put(w, &cie_id, sizeof(cie_id));
	put(w, &e->version, 1);
	put(w, e->signal ? "S" : "", e->signal ? 2 : 1);
	put(w, sizes, e->version == 4 ? sizeof(sizes) : 0);
	put_bytes(w, e->columns);
	put_bytes(w, e->cie_program);
	end_entry(w, 0);

	size_t start = w->size;
	put(w, &length, sizeof(length));
	put(w, &cie_off, sizeof(cie_off));
	put(w, &e->start_svma, sizes[0]); /* little-endian: the lower half first */
	put(w, &bytes, sizes[0]);
	put_bytes(w, e->program);
	end_entry(w, start);
}

static int rule_make(struct sw_bytes pair, bool is_32bit, uint64_t avma, struct sw_arena *arena,
		     const struct sw_cfi_rule **ret)
{
	struct sw_debug_frame *table = sw_debug_frame_make(pair, is_32bit);
	Dwarf_Frame *frame = NULL;
	if (table == NULL)
		return -SW_E_FORMAT;
	int r = -SW_E_NOT_FOUND;
	if (dwarf_cfi_addrframe(sw_debug_frame_cfi(table), avma, &frame) == 0)
		r = sw_cfi_rule_compile(frame, is_32bit, false, arena, ret);
	free(frame); /* ours, says libdw.h */
	sw_debug_frame_close(table);
	return r;
}

int sw_cfi_fde_rule(const struct sw_cfi_section *section, uint64_t fde_off, uint64_t avma,
		    struct sw_arena *arena, const struct sw_cfi_rule **ret)
{
	struct sw_cfi_entry e;
	if (sw_cfi_entry_read(section, fde_off, &e) != 1 || e.is_cie)
		return -SW_E_FORMAT;
	if (avma < e.start_svma || avma >= e.end_svma)
		return -SW_E_NOT_FOUND;
	if (e.program.size > PROGRAM_MAX || e.cie_program.size > PROGRAM_MAX)
		return -SW_E_LIMIT;
	if (!sw_cfi_entry_sane(&e) || sw_cfi_entry_has_place(&e))
		return -SW_E_FORMAT;
	struct writer w = {0};
	write_pair(&w, &e);
	sw_cleanup(sw_free_p) uint8_t *bytes = malloc(w.size);
	if (bytes == NULL)
		return -SW_E_NOMEM;
	w = (struct writer){.bytes = bytes};
	write_pair(&w, &e);
	return rule_make((struct sw_bytes){bytes, w.size}, e.is_32bit, avma, arena, ret);
}

int sw_cfi_fde_find(const struct sw_cfi_section *section, uint64_t avma, uint64_t *ret_off,
		    struct sw_cfi_entry *ret)
{
	struct sw_cfi_entry e;
	uint64_t off = 0;
	for (size_t n = 0; n < SW_CFI_FDES_MAX; n++, off = e.next_off) {
		int r = sw_cfi_entry_read(section, off, &e);
		if (r <= 0)
			return r;
		if (e.is_cie || avma < e.start_svma || avma >= e.end_svma)
			continue;
		*ret_off = off;
		*ret = e;
		return 1;
	}
	return -1;
}

int sw_cfi_fdes_put(struct sw_cfi_fdes *fdes, const struct sw_cfi_entry *entry, uint32_t off,
		    uint32_t number)
{
	struct sw_cfi_fde *grown =
		sw_grow(fdes->fdes, fdes->n, &fdes->capacity, FDES_FIRST, sizeof(*grown));
	if (grown == NULL)
		return -SW_E_NOMEM;
	fdes->fdes = grown;
	fdes->fdes[fdes->n++] =
		(struct sw_cfi_fde){entry->start_svma, entry->end_svma, off, number};
	return 0;
}

int sw_cfi_fdes_add(struct sw_cfi_fdes *fdes, const struct sw_cfi_section *section, uint32_t number)
{
	struct sw_cfi_entry e;
	for (uint64_t off = 0;; off = e.next_off) { /* entries have a length: bounded by the size */
		int r = sw_cfi_entry_read(section, off, &e);
		if (r < 0 || fdes->n >= SW_CFI_FDES_MAX)
			fdes->bad = true;
		if (r <= 0 || fdes->n >= SW_CFI_FDES_MAX)
			return 0;
		if (!e.is_cie && e.start_svma < e.end_svma &&
		    sw_cfi_fdes_put(fdes, &e, (uint32_t) off, number) < 0)
			return -SW_E_NOMEM;
	}
}

static int compare(const void *a, const void *b)
{
	const struct sw_cfi_fde *x = a, *y = b;
	return (x->start_avma > y->start_avma) - (x->start_avma < y->start_avma);
}

void sw_cfi_fdes_sort(struct sw_cfi_fdes *fdes)
{
	if (fdes->n > 1)
		qsort(fdes->fdes, fdes->n, sizeof(*fdes->fdes), compare);
}

const struct sw_cfi_fde *sw_cfi_fdes_find(const struct sw_cfi_fdes *fdes, uint64_t avma)
{
	size_t low = 0, high = fdes->n;
	while (low < high) { /* the first one behind avma */
		size_t middle = low + (high - low) / 2;
		if (fdes->fdes[middle].start_avma <= avma)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && avma < fdes->fdes[low - 1].end_avma ? &fdes->fdes[low - 1] : NULL;
}

void sw_cfi_fdes_deinit(struct sw_cfi_fdes *fdes)
{
	free(fdes->fdes);
	*fdes = (struct sw_cfi_fdes){0};
}
