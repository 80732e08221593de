/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cfi/unlisted.h"
#include "jit_case.h"
#include "test.h"

#include <endian.h>

enum { ENCODING = 0x1b, CODE = 0x1000, FRAME = 0x4000, HDR = 0x3000, FDES = 5, PAIRS = 8 };

/* .eh_frame for five functions of 0x10 bytes, behind each other; with a terminator behind the second. */
struct frame {
	struct eh_make eh;
	size_t fdes[FDES];
	uint32_t pairs[PAIRS * 2];
	struct sw_cfi_section section;
	struct sw_cfi_table table;
	struct sw_cfi_fdes found;
};

static void frame_init(struct frame *f)
{
	*f = (struct frame){.eh.avma = FRAME};
	size_t cie = eh_make_cie(&f->eh, ENCODING);
	for (size_t i = 0; i < FDES; i++) {
		f->fdes[i] = eh_make_fde(&f->eh, cie, ENCODING, CODE + 0x10 * i, 0x10,
					 EH_ROWS(0x41, 0x0e, 16));
		if (i == 1)
			eh_make_end(&f->eh);
	}
	eh_make_end(&f->eh);
	f->section = eh_section(&f->eh);
	f->table.base_svma = HDR;
}

static void list(struct frame *f, size_t fde, uint64_t start)
{
	size_t n = f->table.pairs.size / sizeof(f->pairs[0]);
	assert_true(n < PAIRS * 2);
	f->pairs[n] = htole32((uint32_t) (start - HDR));
	f->pairs[n + 1] = htole32((uint32_t) (FRAME + f->fdes[fde] - HDR));
	f->table.pairs =
		(struct sw_bytes){(const uint8_t *) f->pairs, (n + 2) * sizeof(f->pairs[0])};
}

static void find(struct frame *f, uint64_t end_off)
{
	const struct sw_cfi_frame frame = {.section = &f->section,
					   .table = &f->table,
					   .end_off = end_off};
	assert_int_equal(sw_cfi_unlisted(&frame, &f->found), 0);
}

static bool has(const struct frame *f, size_t fde)
{
	const struct sw_cfi_fde *found = sw_cfi_fdes_find(&f->found, CODE + 0x10 * fde + 8);
	if (found != NULL)
		assert_int_equal(found->off, f->fdes[fde]);
	return found != NULL;
}

TEST(test_only_what_is_not_listed)
{
	struct frame f;
	frame_init(&f);
	list(&f, 0, CODE);
	list(&f, 3, CODE + 0x30);
	find(&f, f.eh.size);
	assert_int_equal(f.found.n, 3);
	assert_false(has(&f, 0));
	assert_true(has(&f, 1) && has(&f, 2) && has(&f, 4));
	assert_false(has(&f, 3));
	sw_cfi_fdes_deinit(&f.found);
}

/* Where the section ends is only known by section headers; else the first terminator ends it. */
TEST(test_terminators)
{
	struct frame f;
	frame_init(&f);
	find(&f, 0);
	assert_int_equal(f.found.n, 2);
	assert_true(has(&f, 0) && has(&f, 1));
	sw_cfi_fdes_deinit(&f.found);
	frame_init(&f);
	find(&f, f.fdes[4]);
	assert_int_equal(f.found.n, 4);
	sw_cfi_fdes_deinit(&f.found);
}

/* The table has one of the functions that were folded. */
TEST(test_folded)
{
	struct frame f;
	frame_init(&f);
	for (size_t i = 0; i < 3; i++)
		list(&f, i, CODE + 0x10 * i);
	size_t cie = 0, twin = eh_make_fde(&f.eh, cie, ENCODING, CODE + 0x10, 0x10, EH_ROWS(0));
	f.section = eh_section(&f.eh);
	find(&f, f.eh.size);
	assert_true(twin > 0);
	assert_int_equal(f.found.n, 2);
	assert_true(has(&f, 3) && has(&f, 4));
	sw_cfi_fdes_deinit(&f.found);
}

/* As many entries as the table has: none is looked into. */
TEST(test_all_listed)
{
	struct frame f;
	frame_init(&f);
	for (size_t i = 0; i < FDES; i++)
		list(&f, 0, CODE + i);
	find(&f, f.eh.size);
	assert_int_equal(f.found.n, 0);
	assert_null(f.found.fdes);
}

/* Cut anywhere: what is whole before it is found, and nothing is read behind it. */
TEST(test_cut_anywhere)
{
	struct frame f;
	frame_init(&f);
	size_t whole = f.eh.size;
	for (size_t size = 0; size < whole; size++) {
		uint8_t *copy = malloc(size + 1);
		assert_non_null(copy);
		memcpy(copy, f.eh.bytes, size);
		f.section.bytes = (struct sw_bytes){copy, size};
		find(&f, whole);
		size_t wanted = 0;
		for (size_t i = 0; i < FDES; i++)
			wanted += f.fdes[i] + f.eh.bytes[f.fdes[i]] + 4 <= size;
		assert_int_equal(f.found.n, wanted);
		sw_cfi_fdes_deinit(&f.found);
		free(copy);
	}
}
