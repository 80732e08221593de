/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names by a table of <snapwalk/ftable.h>. */
#include "jit/ftable/tables.h"

#include <string.h>

static bool symbol_read(const struct sw_ftable_table *t, size_t index, struct swft_symbol *ret)
{
	struct sw_bytes b = {t->symbols.bytes, t->symbols.size};
	return sw_bytes_copy(b, (uint64_t) index * sizeof(*ret), ret, sizeof(*ret));
}

static void symbols_index(struct sw_ftable_table *t)
{
	struct swft_symbol s;
	t->ranges_tried = true;
	for (size_t i = 0; symbol_read(t, i, &s); i++)
		if (sw_jit_ranges_add(&t->symbol_ranges, t->t.start_avma + s.offset, s.bytes,
				      (uint32_t) i) < 0)
			break;
	if (sw_jit_ranges_finish(&t->symbol_ranges) < 0)
		sw_jit_ranges_deinit(&t->symbol_ranges);
}

bool sw_ftable_symbol(struct sw_ftable_all *st, struct sw_ftable_table *t, uint64_t avma,
		      struct swft_symbol *ret)
{
	uint64_t bytes;
	if (__builtin_mul_overflow(t->t.n_symbols, sizeof(*ret), &bytes) ||
	    !sw_ftable_part_get(st, t, &t->symbols, t->t.symbols_avma, bytes))
		return false;
	if (!t->ranges_tried)
		symbols_index(t);
	const struct sw_jit_range *range = sw_jit_ranges_find(&t->symbol_ranges, avma);
	return range != NULL && symbol_read(t, range->value, ret);
}

/* A name at an offset; the only one of a table may end without a NUL. */
static bool name_copy(struct sw_ftable_all *st, struct sw_ftable_table *t, uint64_t off, char *to,
		      size_t room)
{
	if (!sw_ftable_part_get(st, t, &t->names, t->t.names_avma, t->t.names_bytes) ||
	    off >= t->names.size)
		return false;
	size_t n = strnlen((const char *) t->names.bytes + off, t->names.size - (size_t) off);
	if (n >= room)
		n = room - 1;
	memcpy(to, t->names.bytes + off, n);
	to[n] = '\0';
	return n > 0;
}

bool sw_ftable_name(struct sw_ftable_all *st, struct sw_ftable_table *t, uint64_t avma,
		    struct sw_description *ret)
{
	struct swft_symbol symbol = {0};
	if (t->t.n_symbols > 0 && !sw_ftable_symbol(st, t, avma, &symbol))
		return false;
	if (!name_copy(st, t, symbol.name, ret->function, sizeof(ret->function)))
		return false;
	ret->start_avma = t->t.start_avma + symbol.offset;
	if (symbol.line != 0 && name_copy(st, t, symbol.file, ret->file, sizeof(ret->file)))
		ret->line = symbol.line;
	return true;
}
