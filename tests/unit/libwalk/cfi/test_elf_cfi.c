/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cfi/find.h"
#include "walk_case.h"
#include "test.h"

enum { BIAS = 0x550000000000 };

static const uint8_t code[] = {1, 2, 3, 4};

static const struct image_fde fdes[] = {{.start = 0x20, .end = 0x30, IMAGE_ROWS(0x44, 0x0e, 24)}};

static struct sw_snapshot *snapshot(void)
{
	struct sw_snapshot *snap = fake_snapshot_create();
	walk_module(snap, BIAS,
		    &(struct image_parts){
			    .code = code, .n_code = sizeof(code), .fdes = fdes, .n_fdes = 1});
	return snap;
}

static struct sw_module *module_of(struct sw_snapshot *snap)
{
	return snap->places[0].module;
}

/* A rule is compiled once; what does not exist is also looked for once. */
TEST(test_rules_are_kept)
{
	struct sw_snapshot *snap = snapshot();
	struct sw_elf_cfi *cfi = sw_elf_cfi_get(module_of(snap));
	assert_non_null(cfi);
	assert_ptr_equal(sw_elf_cfi_get(module_of(snap)), cfi);
	const struct sw_cfi_rule *first = NULL, *again = NULL;
	assert_int_equal(sw_elf_cfi_row(cfi, IMAGE_CODE + 0x24, &first), SW_ELF_ROW_FOUND);
	assert_int_equal(sw_elf_cfi_row(cfi, IMAGE_CODE + 0x24, &again), SW_ELF_ROW_FOUND);
	assert_ptr_equal(first, again);
	assert_int_equal(sw_elf_cfi_row(cfi, IMAGE_CODE + 0x100, &again), SW_ELF_ROW_NONE);
	assert_int_equal(sw_elf_cfi_row(cfi, IMAGE_CODE + 0x100, &again), SW_ELF_ROW_NONE);
	fake_snapshot_destroy(snap);
}

/* Addresses without end do not take memory without end, and rules stay right. */
TEST(test_rules_are_bounded)
{
	struct sw_snapshot *snap = snapshot();
	struct sw_elf_cfi *cfi = sw_elf_cfi_get(module_of(snap));
	const struct sw_cfi_rule *rule = NULL;
	for (uint64_t i = 0; i < SW_ELF_RULES_MAX + 10; i++)
		assert_int_equal(sw_elf_cfi_row(cfi, 0x10000 + i, &rule), SW_ELF_ROW_NONE);
	assert_int_equal(sw_elf_cfi_row(cfi, IMAGE_CODE + 0x24, &rule), SW_ELF_ROW_FOUND);
	assert_int_equal(rule->cfa_offset, 24);
	fake_snapshot_destroy(snap);
}

TEST(test_image_by_svma)
{
	struct sw_snapshot *snap = snapshot();
	struct sw_elf_cfi *cfi = sw_elf_cfi_get(module_of(snap));
	struct sw_bytes bytes = {0};
	assert_true(sw_elf_loaded(sw_elf_cfi_elf(cfi), IMAGE_CODE + 1, &bytes));
	assert_int_equal(bytes.size, IMAGE_BYTES - IMAGE_CODE - 1);
	assert_int_equal(bytes.data[0], 2);
	assert_true(sw_elf_loaded(sw_elf_cfi_elf(cfi), IMAGE_BYTES - 1, &bytes));
	assert_int_equal(bytes.size, 1);
	assert_false(sw_elf_loaded(sw_elf_cfi_elf(cfi), IMAGE_BYTES, &bytes));
	assert_false(sw_elf_loaded(sw_elf_cfi_elf(cfi), UINT64_MAX, &bytes));
	uint16_t two = 0;
	struct sw_memory memory = sw_elf_cfi_memory(cfi);
	assert_true(sw_memory_read(memory, IMAGE_CODE + 2, &two, sizeof(two)));
	assert_int_equal(two, 0x0403);
	assert_false(sw_memory_read(memory, IMAGE_BYTES - 1, &two, sizeof(two)));
	assert_string_equal(sw_elf_cfi_table(cfi, IMAGE_CODE + 0x24), ".eh_frame");
	assert_null(sw_elf_cfi_table(cfi, IMAGE_CODE + 0x30));
	fake_snapshot_destroy(snap);
}

/* libdw is not let at rows that ask for too much; their neighbours are as good as ever. */
TEST(test_excessive_rows)
{
	const struct image_fde greedy[] = {
		{.start = 0x00, .end = 0x10, IMAGE_ROWS(0x05, 0xff, 0xff, 0xff, 0x1f, 1)},
		{.start = 0x20, .end = 0x30, IMAGE_ROWS(0x44, 0x0e, 24)},
	};
	struct sw_snapshot *snap = fake_snapshot_create();
	walk_module(snap, BIAS, &(struct image_parts){.fdes = greedy, .n_fdes = 2});
	struct sw_elf_cfi *cfi = sw_elf_cfi_get(module_of(snap));
	const struct sw_cfi_rule *rule = NULL;
	assert_int_equal(sw_elf_cfi_row(cfi, IMAGE_CODE + 4, &rule), SW_ELF_ROW_BAD);
	assert_int_equal(sw_elf_cfi_row(cfi, IMAGE_CODE + 0x24, &rule), SW_ELF_ROW_FOUND);
	assert_int_equal(rule->cfa_offset, 24);
	fake_snapshot_destroy(snap);
}

/* Without a search table, or with one that is not sorted: the first works, the second is not used,
 * since libdw might find another entry in it than we do. */
TEST(test_search_tables)
{
	static const struct {
		size_t offset;
		uint8_t value;
		enum sw_elf_row row;
	} changes[] = {
		{IMAGE_HDR + 3, 0xff, SW_ELF_ROW_FOUND},     /* omitted */
		{IMAGE_HDR + 3, 0x33, SW_ELF_ROW_NONE},      /* an encoding nobody uses */
		{IMAGE_HDR + 12 + 3, 0x7f, SW_ELF_ROW_NONE}, /* the first address is the highest */
	};
	const struct image_fde two[] = {
		{.start = 0x00, .end = 0x10},
		{.start = 0x20, .end = 0x30, IMAGE_ROWS(0x44, 0x0e, 24)},
	};
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		uint8_t *image = elf_image(&(struct image_parts){.fdes = two, .n_fdes = 2});
		image[changes[i].offset] = changes[i].value;
		struct sw_snapshot *snap = fake_snapshot_create();
		(void) fake_snapshot_module(snap, SW_MODULE_ELF, "/bin/fake", 0, 0, IMAGE_BYTES,
					    image, IMAGE_BYTES);
		free(image);
		const struct sw_cfi_rule *rule = NULL;
		assert_int_equal(sw_elf_cfi_row(sw_elf_cfi_get(module_of(snap)), IMAGE_CODE + 0x24,
						&rule),
				 changes[i].row);
		fake_snapshot_destroy(snap);
	}
}

/* Entries that the search table does not have are found, too, and as exact; what is in it goes first. */
TEST(test_unlisted)
{
	const struct image_fde four[] = {
		{.start = 0x00, .end = 0x10, IMAGE_ROWS(0x44, 0x0e, 16), .unlisted = true},
		{.start = 0x10, .end = 0x20, IMAGE_ROWS(0x44, 0x0e, 24)},
		{.start = 0x30, .end = 0x40, IMAGE_ROWS(0x44, 0x0e, 32), .unlisted = true},
		{.start = 0x40,
		 .end = 0x50,
		 IMAGE_ROWS(0x05, 0xff, 0xff, 0xff, 0x1f, 1),
		 .unlisted = true},
	};
	struct sw_snapshot *snap = fake_snapshot_create();
	walk_module(snap, BIAS, &(struct image_parts){.fdes = four, .n_fdes = 4});
	struct sw_elf_cfi *cfi = sw_elf_cfi_get(module_of(snap));
	const struct sw_cfi_rule *rule = NULL;
	static const struct {
		uint64_t at;
		enum sw_elf_row row;
		int64_t offset;
	} rows[] = {
		{0x00, SW_ELF_ROW_FOUND, 8}, {0x0f, SW_ELF_ROW_FOUND, 16},
		{0x10, SW_ELF_ROW_FOUND, 8}, {0x1f, SW_ELF_ROW_FOUND, 24},
		{0x20, SW_ELF_ROW_NONE, 0},  {0x2f, SW_ELF_ROW_NONE, 0},
		{0x33, SW_ELF_ROW_FOUND, 8}, {0x34, SW_ELF_ROW_FOUND, 32},
		{0x48, SW_ELF_ROW_BAD, 0},   {0x50, SW_ELF_ROW_NONE, 0},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(sw_elf_cfi_row(cfi, IMAGE_CODE + rows[i].at, &rule), rows[i].row);
		if (rows[i].row == SW_ELF_ROW_FOUND)
			assert_int_equal(rule->cfa_offset, rows[i].offset);
	}
	assert_string_equal(sw_elf_cfi_table(cfi, IMAGE_CODE + 0x34), ".eh_frame");
	assert_null(sw_elf_cfi_table(cfi, IMAGE_CODE + 0x20));
	struct sw_cfi_entry entry;
	uint64_t entry_svma;
	assert_int_equal(sw_elf_cfi_entry(cfi, IMAGE_CODE + 0x3f, &entry, &entry_svma),
			 SW_ELF_ROW_FOUND);
	assert_int_equal(entry.start_svma, IMAGE_CODE + 0x30);
	fake_snapshot_destroy(snap);
}

/* Other classes, machines and byte orders are not ours; nor is what is no ELF file at all. */
TEST(test_refused)
{
	static const struct {
		size_t offset;
		uint8_t value;
	} changes[] = {{EI_CLASS, ELFCLASS32}, {EI_DATA, ELFDATA2MSB}, {18, EM_386}, {0, 0}};
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		uint8_t *image = elf_image(&(struct image_parts){.fdes = fdes, .n_fdes = 1});
		image[changes[i].offset] = changes[i].value;
		struct sw_snapshot *snap = fake_snapshot_create();
		(void) fake_snapshot_module(snap, SW_MODULE_ELF, "/bin/other", 0, 0, IMAGE_BYTES,
					    image, IMAGE_BYTES);
		free(image);
		assert_null(sw_elf_cfi_get(module_of(snap)));
		assert_null(sw_elf_cfi_get(module_of(snap))); /* remembered */
		fake_snapshot_destroy(snap);
	}
}
