/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The way out of code by a table of <snapwalk/ftable.h>: what each of its kinds says. */
#include "jit/ftable/tables.h"

enum {
	ENTRY_BYTES = 12,
	UNWIND_INFO_BYTES = 4 + 2 * 255 + 2 + 12,
	RET_BYTES = 8,
};

static bool data_get(struct sw_ftable_all *st, struct sw_ftable_table *t)
{
	return sw_ftable_part_get(st, t, &t->data, t->t.data_avma, sw_ftable_data_bytes(&t->t));
}

static bool eh_frame_find(struct sw_ftable_all *st, struct sw_ftable_table *t, uint64_t avma,
			  struct sw_jit_entry *ret)
{
	if (!data_get(st, t))
		return false;
	ret->cfi = (struct sw_cfi_section){.bytes = {t->data.bytes, t->data.size},
					   .svma = t->t.data_avma};
	if (!t->fdes_tried) {
		t->fdes_tried = true;
		if (sw_jit_fdes_add(&t->fdes, &ret->cfi, 0) < 0)
			t->problem = "not enough memory";
		else if (t->fdes.bad)
			t->problem = "its call frame information is malformed";
		sw_jit_fdes_sort(&t->fdes);
	}
	const struct sw_jit_fde *fde = sw_jit_fdes_find(&t->fdes, avma);
	if (fde == NULL)
		return false;
	ret->how = SW_JIT_CFI;
	ret->cfi_off = fde->off;
	ret->start_avma = fde->start_avma;
	ret->end_avma = fde->end_avma;
	return true;
}

/* The last entry that does not begin behind rva. */
static bool entry_search(const struct sw_ftable_part *data, uint32_t rva,
			 struct sw_pe_function *ret)
{
	struct sw_bytes b = {data->bytes, data->size};
	size_t low = 0, high = data->size / ENTRY_BYTES;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		uint32_t begin;
		if (!sw_bytes_u32(b, (uint64_t) middle * ENTRY_BYTES, &begin))
			return false;
		if (begin <= rva)
			low = middle + 1;
		else
			high = middle;
	}
	uint64_t off = (uint64_t) (low - 1) * ENTRY_BYTES;
	return low > 0 && sw_bytes_u32(b, off, &ret->begin_rva) &&
	       sw_bytes_u32(b, off + 4, &ret->end_rva) &&
	       sw_bytes_u32(b, off + 8, &ret->unwind_rva) && rva < ret->end_rva;
}

/* UNWIND_INFO is read while stepping: here it is made sure that it is still what the table meant. What
 * is read now is kept. */
static bool unwind_info_good(struct sw_ftable_all *st, struct sw_ftable_table *t, uint64_t avma)
{
	uint8_t head[UNWIND_INFO_BYTES];
	if (t->t.info_bytes > 0 &&
	    sw_memory_read(sw_snapshot_memory(&st->still_memory), t->t.info_avma, head, 1))
		return true;
	if (!st->snap->live)
		return true;
	for (size_t n = sizeof(head); n > 0; n /= 2) /* it may lie at the end of a mapping */
		if (sw_memory_read(sw_snapshot_memory(&st->memory), avma, head, n))
			break;
	if (sw_ftable_unchanged(sw_ftable_running(st), &t->t))
		return true;
	t->problem = "the table was removed or changed after the stop";
	return false;
}

static bool function_find(struct sw_ftable_all *st, struct sw_ftable_table *t, uint64_t avma,
			  struct sw_jit_entry *ret)
{
	if (avma < t->t.base_avma || avma - t->t.base_avma > UINT32_MAX || !data_get(st, t) ||
	    !entry_search(&t->data, (uint32_t) (avma - t->t.base_avma), &ret->function) ||
	    !unwind_info_good(st, t, t->t.base_avma + ret->function.unwind_rva))
		return false;
	ret->how = SW_JIT_PE;
	ret->base_avma = t->t.base_avma;
	ret->start_avma = t->t.base_avma + ret->function.begin_rva;
	ret->end_avma = t->t.base_avma + ret->function.end_rva;
	return true;
}

/* At the first instruction of a symbol nothing was pushed yet. */
static void fixed_fill(struct sw_ftable_all *st, struct sw_ftable_table *t, uint64_t avma,
		       struct sw_jit_entry *ret)
{
	struct swft_symbol symbol;
	ret->how = SW_JIT_FIXED_CFA;
	ret->cfa_offset = t->t.cfa_offset;
	if (sw_ftable_symbol(st, t, avma, &symbol) && t->t.start_avma + symbol.offset == avma)
		ret->cfa_offset = RET_BYTES;
}

bool sw_ftable_rule(struct sw_ftable_all *st, struct sw_ftable_table *t, uint64_t avma,
		    struct sw_jit_entry *ret)
{
	*ret = (struct sw_jit_entry){.start_avma = t->t.start_avma, .end_avma = t->t.end_avma};
	bool found = true;
	switch (t->t.kind) {
	case SWFT_EH_FRAME: found = eh_frame_find(st, t, avma, ret); break;
	case SWFT_RUNTIME_FUNCTION: found = function_find(st, t, avma, ret); break;
	case SWFT_FRAME_POINTER: ret->how = SW_JIT_FRAME_POINTER; break;
	case SWFT_FIXED: fixed_fill(st, t, avma, ret); break;
	default: ret->how = SW_JIT_UNKNOWN; break; /* SWFT_DEFERRED */
	}
	ret->live = t->t.live || t->data.live;
	ret->where = t->t.deferred ? "deferred" : NULL;
	return found;
}
