/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf_frames.h"
#include "elf_image.h"
#include "test.h"

TEST(test_starts)
{
	static const struct image_fde fdes[] = {{.start = 0x10, .end = 0x20},
						{.start = 0x20, .end = 0x28},
						{.start = 0x40, .end = 0x50}};
	static const struct {
		uint64_t at, start;
	} wanted[] = {
		{0x0f, 0},    {0x10, 0x10}, {0x1f, 0x10},  {0x20, 0x20},
		{0x3f, 0x20}, {0x40, 0x40}, {0x900, 0x40},
	};
	uint8_t *image = elf_image(&(struct image_parts){.fdes = fdes, .n_fdes = 3});
	struct sw_elf elf;
	assert_true(sw_elf_init(&elf, (struct sw_bytes){image, IMAGE_BYTES}));
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		uint64_t start = 0;
		assert_int_equal(sw_elf_frame_start(&elf, IMAGE_CODE + wanted[i].at, &start),
				 wanted[i].start != 0);
		assert_int_equal(start, wanted[i].start == 0 ? 0 : IMAGE_CODE + wanted[i].start);
	}
	uint64_t start;
	image[IMAGE_HDR + 11] = 0x40; /* more pairs than there are */
	assert_false(sw_elf_frame_start(&elf, IMAGE_CODE + 0x10, &start));
	image[IMAGE_HDR + 11] = 0;
	image[IMAGE_HDR + 3] = 0xff; /* no table */
	assert_false(sw_elf_frame_start(&elf, IMAGE_CODE + 0x10, &start));
	free(image);
	image = elf_image(&(struct image_parts){.n_fdes = 0});
	assert_true(sw_elf_init(&elf, (struct sw_bytes){image, IMAGE_BYTES}));
	assert_false(sw_elf_frame_start(&elf, IMAGE_CODE + 0x10, &start));
	free(image);
}

TEST(test_ranges)
{
	static const struct image_fde fdes[] = {{.start = 0x10, .end = 0x20},
						{.start = 0x20, .end = 0x28}};
	uint8_t *image = elf_image(&(struct image_parts){.fdes = fdes, .n_fdes = 2});
	struct sw_elf elf;
	uint64_t start = 0, end = 0;
	assert_true(sw_elf_init(&elf, (struct sw_bytes){image, IMAGE_BYTES}));
	assert_true(sw_elf_frame_range(&elf, IMAGE_CODE + 0x1f, &start, &end));
	assert_int_equal(start, IMAGE_CODE + 0x10);
	assert_int_equal(end, IMAGE_CODE + 0x20);
	assert_true(sw_elf_frame_range(&elf, IMAGE_CODE + 0x20, &start, &end));
	assert_int_equal(start, IMAGE_CODE + 0x20);
	assert_false(sw_elf_frame_range(&elf, IMAGE_CODE + 0x28, &start, &end));
	assert_false(sw_elf_frame_range(&elf, IMAGE_CODE + 0x0f, &start, &end));
	free(image);
}
