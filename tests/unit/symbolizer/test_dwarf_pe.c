/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lines, inlined calls and names of a PE file from its DWARF alone: tests/fixtures/pe-names. */
#include "cleanup.h"
#include "snapshot/module.h"
#include "test.h"

#include <snapwalk/symbolize.h>

#include <sys/mman.h>
#include <sys/stat.h>

enum { FILE_BYTES_MAX = 1 << 16, BIAS = 0x10000000, HEADER = 0x80, INTERNAL = 0x1010 };

static uint8_t bytes[FILE_BYTES_MAX];
static size_t size;

static int setup(void **state)
{
	int fd = open(SW_TESTS_DIR "/fixtures/pe-names/names.dll", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	ssize_t n = read(fd, bytes, sizeof(bytes));
	assert_in_range(n, 4096, FILE_BYTES_MAX - 1);
	size = (size_t) n;
	(void) close(fd); /* only read */
	assert_memory_equal(bytes + HEADER, "PE\0\0", 4);
	return 0;
}

/* Without symbols; their strings, which section names are in, stay. */
static void symbols_remove(void)
{
	uint32_t at, n;
	memcpy(&at, bytes + HEADER + 12, 4);
	memcpy(&n, bytes + HEADER + 16, 4);
	at += n * 18;
	n = 0;
	memcpy(bytes + HEADER + 12, &at, 4);
	memcpy(bytes + HEADER + 16, &n, 4);
}

static void base_set(uint64_t base)
{
	memcpy(bytes + HEADER + 24 + 24, &base, sizeof(base));
}

/* The names of an address, innermost first: "inner names.c:24|middle names.c:30|..." */
static const char *describe(uint64_t rva)
{
	static char text[1024];
	struct sw_context *ctx = NULL;
	struct sw_module *module = NULL;
	struct sw_symbolizer *symbolizer = NULL;
	struct sw_symbols *symbols = NULL;
	struct stat st;
	int fd = memfd_create("dll", MFD_CLOEXEC);
	assert_int_equal(write(fd, bytes, size), size);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(sw_context_create(&ctx, NULL), 0);
	assert_int_equal(sw_context_module_file(ctx, SW_MODULE_PE, "/x/names.dll", false, fd, &st,
						&module),
			 0);
	assert_int_equal(sw_symbolizer_create(ctx, &symbolizer, NULL), 0);
	struct sw_place place = {.module = module,
				 .end_avma = UINT64_MAX,
				 .bias = BIAS,
				 .resolved = 1};
	struct sw_frame frame = {.pc_avma = rva + BIAS,
				 .place = &place,
				 .flags = SW_FRAME_EXACT_PC};
	struct sw_walk walk = {.frames = &frame, .n_frames = 1};
	struct sw_walks walks = {.walks = &walk, .n_walks = 1};
	assert_int_equal(sw_symbolize(symbolizer, &walks, NULL, &symbols, NULL), 0);
	assert_int_equal(symbols->n_unfinished, 0);
	const struct sw_symbol *found;
	size_t n = sw_symbols_find(symbols, &frame, &found), used = 0;
	text[0] = '\0';
	for (size_t i = 0; i < n; i++)
		used += (size_t) snprintf(text + used, sizeof(text) - used, "%s%s+%d %s:%u",
					  i > 0 ? "|" : "",
					  found[i].function != NULL ? found[i].function : "?",
					  (int) found[i].function_offset,
					  found[i].file != NULL ? found[i].file : "?",
					  found[i].line);
	sw_symbols_destroy(symbols);
	sw_symbolizer_destroy(symbolizer);
	sw_context_destroy(ctx);
	return text;
}

TEST_WITH(test_whole, setup, NULL)
{
	assert_string_equal(describe(INTERNAL + 17), "internal+17 /src/names.c:34");
	assert_string_equal(describe(0x3000), "");
}

/* Names and offsets, too, when there are no symbols. */
TEST_WITH(test_without_symbols, setup, NULL)
{
	symbols_remove();
	assert_string_equal(describe(INTERNAL + 17), "internal+17 /src/names.c:34");
	assert_string_equal(describe(0x1131),
			    "shapes::box<long>::area(long) const+1 /src/shapes.cc:19");
	assert_string_equal(describe(0x1062), "exported+2 /src/names.c:40");
	assert_string_equal(describe(0x1000), ""); /* assembly: nothing is left of it */
}

/* DWARF counts from the preferred base that the header gives: with another one it says nothing, as
 * all of its code would lie outside. */
TEST_WITH(test_base, setup, NULL)
{
	symbols_remove();
	base_set(UINT64_C(0x3a6160000));
	assert_string_equal(describe(INTERNAL + 17), "");
	/* or lies: a function before the image has no offset */
	base_set(UINT64_C(0x3a6151000));
	assert_string_equal(describe(INTERNAL + 17 - 0x1000), "internal+17 /src/names.c:34");
	base_set(UINT64_C(0x3a6151012));
	assert_string_equal(describe(4), "internal+0 /src/names.c:33");
	base_set(UINT64_MAX);
	assert_string_equal(describe(0x10), "");
}

/* Sections that do not lie in the file are not there; the rest is. */
TEST_WITH(test_section_outside, setup, NULL)
{
	static const char wanted[] = "internal+17 ?:0";
	uint32_t far = 0x7fffff00;
	uint16_t n, optional;
	memcpy(&n, bytes + HEADER + 6, 2);
	memcpy(&optional, bytes + HEADER + 20, 2);
	for (uint16_t i = 0; i < n; i++) {
		uint8_t *section = bytes + HEADER + 24 + optional + 40 * i;
		if (section[0] == '/')
			memcpy(section + 20, &far, 4);
	}
	assert_string_equal(describe(INTERNAL + 17), wanted);
}
