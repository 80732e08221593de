/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cfi/debug_frame.h"
#include "elf_image.h"
#include "test.h"

/* The row at 0x1004 of a function [0x1000, 0x1010): after 4 bytes CFA = rsp+40. */
static const uint8_t rows[] = {0x44, 0x0e, 40};

/* The CFA's offset at 0x1004 by .debug_frame of an image; -1 none, -2 no section that can be
 * used. */
static int cfa_offset(const struct image_section *section)
{
	uint8_t *image = elf_image(&(struct image_parts){.sections = section, .n_sections = 1});
	struct sw_elf elf;
	assert_true(sw_elf_init(&elf, (struct sw_bytes){image, IMAGE_BYTES}));
	struct sw_debug_frame *frame = sw_debug_frame_open(&elf);
	int result = -2;
	if (frame != NULL) {
		Dwarf_Frame *row;
		Dwarf_Op *ops;
		size_t n;
		result = -1;
		if (dwarf_cfi_addrframe(sw_debug_frame_cfi(frame), 0x1004, &row) == 0) {
			assert_int_equal(dwarf_frame_cfa(row, &ops, &n), 0);
			assert_int_equal(n, 1);
			result = (int) ops[0].number2;
			free(row);
		}
	}
	sw_debug_frame_close(frame);
	free(image);
	return result;
}

TEST(test_plain)
{
	size_t size;
	uint8_t *data = debug_frame_section(0x1000, 0x1010, rows, sizeof(rows), &size);
	struct image_section s = {.name = ".debug_frame",
				  .type = SHT_PROGBITS,
				  .data = data,
				  .size = size};
	assert_int_equal(cfa_offset(&s), 40);
	s.size = 24; /* cut within the FDE */
	assert_int_equal(cfa_offset(&s), -2);
	s.size = 0;
	assert_int_equal(cfa_offset(&s), -2);
	s.size = size;
	s.type = SHT_NOBITS; /* the file that belongs to a separate debug file */
	assert_int_equal(cfa_offset(&s), -2);
	s.type = SHT_PROGBITS;
	s.name = ".debug_line";
	assert_int_equal(cfa_offset(&s), -2);
	free(data);
}

/* An instruction that would make libdw set aside a gigabyte: the section is not used. */
TEST(test_excessive_register)
{
	static const uint8_t greedy[] = {0x05, 0xff, 0xff, 0xff, 0x1f, 1};
	size_t size;
	uint8_t *data = debug_frame_section(0x1000, 0x1010, greedy, sizeof(greedy), &size);
	const struct image_section s = {.name = ".debug_frame",
					.type = SHT_PROGBITS,
					.data = data,
					.size = size};
	assert_int_equal(cfa_offset(&s), -2);
	free(data);
}

/* Stored blocks of deflate (RFC 1951, §3.2.4) in a zlib stream (RFC 1950). */
static size_t zlib_store(const uint8_t *data, size_t size, uint8_t *out)
{
	uint32_t a = 1, b = 0;
	for (size_t i = 0; i < size; i++) {
		a = (a + data[i]) % 65521;
		b = (b + a) % 65521;
	}
	uint8_t head[] = {0x78, 0x01, 1, (uint8_t) size, 0, (uint8_t) ~size, 0xff};
	uint8_t tail[] = {(uint8_t) (b >> 8), (uint8_t) b, (uint8_t) (a >> 8), (uint8_t) a};
	memcpy(out, head, sizeof(head));
	memcpy(out + sizeof(head), data, size);
	memcpy(out + sizeof(head) + size, tail, sizeof(tail));
	return sizeof(head) + size + sizeof(tail);
}

TEST(test_compressed)
{
	size_t size;
	uint8_t *data = debug_frame_section(0x1000, 0x1010, rows, sizeof(rows), &size);
	uint8_t out[512] = {0};
	Elf64_Chdr header = {.ch_type = ELFCOMPRESS_ZLIB, .ch_size = size, .ch_addralign = 8};
	assert_true(size < 256);
	memcpy(out, &header, sizeof(header));
	struct image_section s = {.name = ".debug_frame",
				  .type = SHT_PROGBITS,
				  .flags = SHF_COMPRESSED,
				  .data = out,
				  .size = sizeof(header) +
					  zlib_store(data, size, out + sizeof(header))};
	assert_int_equal(cfa_offset(&s), 40);

	/* it claims to become larger than what is allowed: not even tried */
	header.ch_size = SW_DEBUG_FRAME_MAX + 1;
	memcpy(out, &header, sizeof(header));
	assert_int_equal(cfa_offset(&s), -2);
	s.size = 8; /* not even a whole header */
	assert_int_equal(cfa_offset(&s), -2);
	free(data);
}

TEST(test_compressed_the_old_way)
{
	size_t size;
	uint8_t *data = debug_frame_section(0x1000, 0x1010, rows, sizeof(rows), &size);
	uint8_t out[512] = {'Z', 'L', 'I', 'B', 0, 0, 0, 0, 0, 0, 0, (uint8_t) size};
	struct image_section s = {.name = ".zdebug_frame",
				  .type = SHT_PROGBITS,
				  .data = out,
				  .size = 12 + zlib_store(data, size, out + 12)};
	assert_int_equal(cfa_offset(&s), 40);
	out[5] = 1; /* 2^48 bytes */
	assert_int_equal(cfa_offset(&s), -2);
	free(data);
}
