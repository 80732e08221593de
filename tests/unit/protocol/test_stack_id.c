/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stack_id.h"
#include "cleanup.h"
#include "test.h"

static const uint8_t build_id[] = {0xde, 0xad, 0xbe, 0xef};

static const struct sw_stack_id_frame with_id = {.build_id = build_id,
						 .build_id_bytes = sizeof(build_id),
						 .path = "/not/used",
						 .offset = 0x1122334455667788};
static const struct sw_stack_id_frame with_path = {.path = "/x", .offset = 0x10};
static const struct sw_stack_id_frame with_name = {.name = "Main.run()", .offset = 7, .path = "/p"};
static const struct sw_stack_id_frame unknown = {.path = "", .offset = 9};

/* The encoding is part of the schema: these bytes may never change. */
TEST(test_encoding)
{
	static const char wanted[] = "B\x04\xde\xad\xbe\xef\x88\x77\x66\x55\x44\x33\x22\x11"
				     "P/x\0\x10\0\0\0\0\0\0\0"
				     "NMain.run()\0"
				     "U";
	struct sw_text bytes = {0};
	sw_stack_id_add(&bytes, &with_id);
	sw_stack_id_add(&bytes, &with_path);
	sw_stack_id_add(&bytes, &with_name);
	sw_stack_id_add(&bytes, &unknown);
	assert_int_equal(bytes.size, sizeof(wanted) - 1);
	assert_memory_equal(bytes.data, wanted, bytes.size);
	sw_text_deinit(&bytes);
}

/* The published value of XXH3-64 with seed 0 for no input (xxHash 0.8.1, its sanity check), and what
 * libxxhash 0.8.1 gave for the byte "U" when the encoding was fixed. */
TEST(test_hash)
{
	struct sw_text bytes = {0};
	assert_true(sw_stack_id(&bytes) == UINT64_C(0x2d06800538d394c2));
	sw_stack_id_add(&bytes, &unknown);
	assert_true(sw_stack_id(&bytes) == UINT64_C(0x6d1c4d82aa363ba2));
	sw_text_deinit(&bytes);
}

TEST(test_depth_changes_it)
{
	struct sw_text bytes = {0};
	uint64_t seen[16];
	for (size_t depth = 0; depth < SW_ARRAY_SIZE(seen); depth++) {
		seen[depth] = sw_stack_id(&bytes);
		for (size_t i = 0; i < depth; i++)
			assert_true(seen[i] != seen[depth]);
		sw_stack_id_add(&bytes, &with_id);
	}
	sw_text_deinit(&bytes);
}

/* More than one length byte can say: falls back to the path. */
TEST(test_long_build_id)
{
	static const uint8_t large[256];
	struct sw_stack_id_frame frame = {.build_id = large,
					  .build_id_bytes = sizeof(large),
					  .path = "/x"};
	struct sw_text bytes = {0};
	sw_stack_id_add(&bytes, &frame);
	assert_memory_equal(bytes.data, "P/x\0\0\0\0\0\0\0\0\0", 12);
	assert_int_equal(bytes.size, 12);
	sw_text_deinit(&bytes);
}
