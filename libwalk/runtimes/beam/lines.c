/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The lines of calls, which the machine keeps for its own stack traces.
 *
 * Source: erts/emulator/beam/beam_code.h (BeamCodeLineTab) and beam_ranges.c (lookup_loc()) of OTP 25:
 *
 *	line table	fname_ptr, loc_size (4 bytes), loc_tab, func_tab[functions + 1]
 *	func_tab[i]	leads to where function i begins in one array of addresses in its code, each valid up
 *			to the next one; loc_tab has as many places: file << 24 | line, 0 for none
 *	fname_ptr	the files' names; of number 0 that of the module with ".erl"
 */
#include "runtimes/beam/lines.h"
#include "utf8.h"

#include <string.h>

enum {
	WORD = 8,
	TABLE_NAMES = 0,
	TABLE_SIZE = 8,
	TABLE_PLACES = 16,
	TABLE_FUNCTIONS = 24,
	FILE_SHIFT = 24,
	LINE_MASK = 0xffffff,
	LIST_TAG = 1, /* of a term's lowest two bits: erl_term.h */
	LIST_TAG_MASK = 3,
	SMALL_TAG = 0xf, /* of its lowest four bits */
	SMALL_TAG_BITS = 4,
	NIL = 0x3b, /* the list's end */
	CHARACTER_MAX = 0x10ffff,
	SURROGATE = 0xd800, /* one of 2048 */
	CELL_WORDS = 2,     /* the first element, the rest */
	CELLS = 32, /* that are read at once: those of a list that code has lie one behind another */
};

/* The index of the last address that is not behind avma, in a sorted list of at least one; n if all
 * of them are behind it. */
static size_t last_before(const uint64_t *addresses, size_t n, uint64_t avma)
{
	size_t low = 0, high = n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (addresses[middle] <= avma)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 ? low - 1 : n;
}

bool sw_beam_line_find(struct sw_memory memory, const struct sw_beam_layout *layout,
		       uint64_t header_avma, uint64_t number, uint64_t avma,
		       struct sw_beam_line *ret)
{
	uint64_t addresses[SW_BEAM_LINES_MAX], table, head[4], range[2];
	uint32_t place = 0;
	if (!sw_memory_u64(memory, header_avma + layout->header_lines, &table) || table == 0 ||
	    table % WORD != 0 || !sw_memory_read(memory, table, head, sizeof(head)) ||
	    !sw_memory_read(memory, table + TABLE_FUNCTIONS + number * WORD, range, sizeof(range)))
		return false;
	uint64_t all = head[TABLE_FUNCTIONS / WORD];
	uint32_t size = (uint32_t) head[TABLE_SIZE / WORD];
	if ((range[0] | range[1] | all) % WORD != 0 || range[0] < all || range[1] <= range[0] ||
	    (range[1] - range[0]) / WORD > SW_BEAM_LINES_MAX || (size != 2 && size != 4))
		return false;
	size_t n = (size_t) (range[1] - range[0]) / WORD;
	if (!sw_memory_read(memory, range[0], addresses, n * WORD))
		return false;
	size_t at = last_before(addresses, n, avma);
	if (at == n)
		return false;
	uint64_t i = (range[0] - all) / WORD + at;
	if (!sw_memory_read(memory, head[TABLE_PLACES / WORD] + i * size, &place, size) ||
	    (place & LINE_MASK) == 0)
		return false;
	ret->line = place & LINE_MASK;
	return sw_memory_u64(memory, head[TABLE_NAMES / WORD] + (place >> FILE_SHIFT) * WORD,
			     &ret->file);
}

/* The cell at avma, from those that were read at once, or with those behind it. */
static bool cell_read(struct sw_memory memory, uint64_t avma, uint64_t cells[CELLS * CELL_WORDS],
		      uint64_t *cells_avma, uint64_t ret[CELL_WORDS])
{
	size_t bytes = CELLS * CELL_WORDS * WORD;
	if (avma % WORD != 0)
		return false;
	if (*cells_avma == 0 || avma < *cells_avma ||
	    avma - *cells_avma > bytes - CELL_WORDS * WORD) {
		*cells_avma = avma;
		if (!sw_memory_read(memory, avma, cells, bytes)) {
			*cells_avma = 0;
			return sw_memory_read(memory, avma, ret, CELL_WORDS * WORD);
		}
	}
	memcpy(ret, cells + (avma - *cells_avma) / WORD, CELL_WORDS * WORD);
	return true;
}

bool sw_beam_text_read(struct sw_memory memory, uint64_t term, char ret[SW_BEAM_FILE_MAX + 1])
{
	uint64_t cells[CELLS * CELL_WORDS], cells_avma = 0, cell[CELL_WORDS];
	size_t n = 0;
	for (size_t i = 0; i < SW_BEAM_FILE_MAX && (term & LIST_TAG_MASK) == LIST_TAG; i++) {
		if (!cell_read(memory, term - LIST_TAG, cells, &cells_avma, cell) ||
		    (cell[0] & ((1 << SMALL_TAG_BITS) - 1)) != SMALL_TAG)
			return false;
		uint64_t value = cell[0] >> SMALL_TAG_BITS;
		if (value == 0 || value > CHARACTER_MAX ||
		    (value & ~UINT64_C(0x7ff)) == SURROGATE || n + 4 > SW_BEAM_FILE_MAX)
			return false;
		n += sw_utf8_encode((uint32_t) value, ret + n);
		term = cell[1];
	}
	ret[n] = '\0';
	return n > 0 && term == NIL;
}
