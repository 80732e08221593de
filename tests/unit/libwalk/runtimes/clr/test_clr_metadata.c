/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "clr_make.h"
#include "runtimes/clr/metadata/image.h"
#include "fake.h"
#include "runtimes/clr/metadata/names.h"
#include "runtimes/clr/metadata/signature.h"
#include "test.h"

enum { AVMA = 0x20000 };

/* An assembly in memory, and what was read of it last. */
struct assembly {
	uint8_t bytes[CLR_MAKE_IMAGE_BYTES];
	size_t n;
	struct fake_region region;
	struct fake_memory fake;
	struct sw_clr_metadata m;
	struct sw_text text;
};

static bool assembly_open(struct assembly *a)
{
	a->region = (struct fake_region){AVMA, a->bytes, a->n};
	a->fake = (struct fake_memory){&a->region, 1, 0};
	return sw_clr_metadata_open(fake_memory(&a->fake), AVMA, a->n, &a->m);
}

static struct assembly *assembly_make(unsigned options)
{
	struct assembly *a = calloc(1, sizeof(*a));
	assert_non_null(a);
	a->n = clr_make_metadata(a->bytes, options);
	assert_true(assembly_open(a));
	return a;
}

static void assembly_free(struct assembly *a)
{
	sw_text_deinit(&a->text);
	free(a);
}

static void text_is(struct assembly *a, const char *expected)
{
	assert_string_equal(a->text.data != NULL ? a->text.data : "", expected);
	sw_text_deinit(&a->text);
}

/* The same names, however the tables are laid out. */
static void names_are_right(unsigned options)
{
	struct assembly *a = assembly_make(options);
	static const char *const types[] = {"<Module>", "N.Outer", "System.Int32",
					    "N.Outer+Inner`1", "Last"};
	for (uint32_t i = 0; i < 5; i++) {
		assert_true(sw_clr_type_def_name(&a->m, i + 1, false, &a->text));
		text_is(a, types[i]);
	}
	assert_true(sw_clr_type_def_name(&a->m, 4, true, &a->text));
	text_is(a, "Inner`1");
	assert_true(sw_clr_type_ref_name(&a->m, 2, false, &a->text));
	text_is(a, "System.Collections.Generic.List`1+Enumerator");
	assert_true(sw_clr_type_ref_name(&a->m, 1, true, &a->text));
	text_is(a, "List`1");
	sw_clr_generic_param_name(&a->m, true, 3, 0, &a->text);
	text_is(a, "U");
	sw_clr_generic_param_name(&a->m, false, 4, 0, &a->text);
	text_is(a, "T");
	sw_clr_generic_param_name(&a->m, false, 4, 1, &a->text);
	text_is(a, "!1");
	sw_clr_generic_param_name(&a->m, true, 1, 0, &a->text);
	text_is(a, "!!0");
	assembly_free(a);
}

TEST(test_names)
{
	names_are_right(0);
	names_are_right(CLR_MAKE_WIDE);
	names_are_right(CLR_MAKE_EDITED);
}

TEST(test_methods)
{
	static const struct {
		uint32_t owner;
		const char *name, *parameters;
	} methods[] = {
		{2, "Main", "(string[])"},
		{2, ".ctor", "()"},
		{4, "Call", "(T, U&, List`1[int])"},
		{4, "Shapes", "(int[,], byte*, long&, delegate*, Outer)"},
		{5, "<Start>b__0", "()"},
	};
	for (unsigned options = 0; options < 2; options++) {
		struct assembly *a = assembly_make(options);
		for (uint32_t i = 0; i < 5; i++) {
			assert_int_equal(sw_clr_method_owner(&a->m, i + 1), methods[i].owner);
			assert_true(sw_clr_method_def_name(&a->m, i + 1, &a->text));
			text_is(a, methods[i].name);
			assert_true(sw_clr_method_def_parameters(&a->m, i + 1, &a->text));
			text_is(a, methods[i].parameters);
		}
		assert_int_equal(sw_clr_method_owner(&a->m, 0), 0);
		assert_int_equal(sw_clr_method_owner(&a->m, 6), 0);
		assert_false(sw_clr_method_def_name(&a->m, 6, &a->text));
		assembly_free(a);
	}
}

/* The first row is <Start>b__0, which MethodPtr puts last. */
TEST(test_edited)
{
	struct assembly *a = assembly_make(CLR_MAKE_EDITED);
	assert_int_equal(sw_clr_method_owner(&a->m, 1), 5);
	assert_int_equal(sw_clr_method_owner(&a->m, 2), 4);
	assert_int_equal(sw_clr_method_owner(&a->m, 5), 2);
	assert_true(sw_clr_method_def_name(&a->m, 1, &a->text));
	text_is(a, "<Start>b__0");
	assembly_free(a);
}

TEST(test_image)
{
	for (int i = 0; i < 4; i++) {
		struct assembly a = {0};
		bool mapped = i & 1, plus = i & 2;
		a.n = clr_make_image(a.bytes, mapped, plus);
		a.region = (struct fake_region){AVMA, a.bytes, a.n};
		a.fake = (struct fake_memory){&a.region, 1, 0};
		assert_true(sw_clr_image_metadata(fake_memory(&a.fake), AVMA, mapped, &a.m));
		assert_true(sw_clr_type_def_name(&a.m, 2, false, &a.text));
		text_is(&a, "N.Outer");
		/* The mark is not where the other way of reading looks for it. */
		assert_false(sw_clr_image_metadata(fake_memory(&a.fake), AVMA, !mapped, &a.m));
	}
}

/* Addresses behind the bytes that the file has of a section are not in it. */
TEST(test_section_ends)
{
	enum { RAW_SIZE = 0x80 + 24 + 224 + 16 };
	struct assembly a = {0};
	a.n = clr_make_image(a.bytes, 0, 0);
	a.region = (struct fake_region){AVMA, a.bytes, a.n};
	a.fake = (struct fake_memory){&a.region, 1, 0};
	const uint32_t sizes[] = {0x61, 0x60, 8}; /* metadata begins at 0x60, the CLI header at 8 */
	for (size_t i = 0; i < 3; i++) {
		memcpy(a.bytes + RAW_SIZE, &sizes[i], 4);
		assert_int_equal(sw_clr_image_metadata(fake_memory(&a.fake), AVMA, false, &a.m),
				 i == 0);
	}
}

TEST(test_refuses)
{
	struct assembly *a = assembly_make(0);
	a->bytes[0] = 'b';
	assert_false(assembly_open(a));
	a->bytes[0] = 'B';
	assert_true(assembly_open(a));
	/* more rows of TypeDef than there are bytes: #~ begins at 80, its row counts at 104 */
	a->bytes[80 + 24 + 2 * 4 + 2] = 1;
	assert_false(assembly_open(a));
	a->bytes[80 + 24 + 2 * 4 + 2] = 0;
	/* every length but the whole one */
	size_t n = a->n;
	for (a->n = 0; a->n < n; a->n++)
		assert_false(assembly_open(a));
	a->n = n;
	assert_true(assembly_open(a));
	assembly_free(a);
}

/* A type in itself, and two in each other. */
TEST(test_nesting_ends)
{
	struct assembly *a = assembly_make(0);
	const struct sw_clr_table *nested = &a->m.tables[SW_CLR_TABLE_NESTED];
	a->bytes[nested->avma - AVMA + 2] = 4;
	assert_true(sw_clr_type_def_name(&a->m, 4, false, &a->text));
	assert_int_equal(a->text.size, SW_CLR_NESTING_MAX * 8 - 1); /* Inner`1+Inner`1 ... */
	assembly_free(a);
}

/* Signatures that do not end, or end too early: what was understood, and that it was not all. */
TEST(test_bad_signatures)
{
	static const struct {
		const char *bytes;
		size_t n;
		const char *expected;
	} bad[] = {
		{"\x00\x02\x01\x08", 4, "(int, ...)"},       /* one is missing */
		{"\x00\x01\x01\x3d", 4, "(...)"},            /* no such type */
		{"\x00\x01\x01\x15\x08", 5, "(...)"},        /* an instance of int */
		{"\x00\x01\x01\x12\x7c", 5, "(...)"},        /* TypeDef 31 */
		{"\x00\x01\x01\x14\x08\x21", 6, "(int...)"}, /* 33 dimensions */
		{"\x00\x01\x01\x0f\x0f\x0f\x0f\x0f\x0f\x0f\x0f\x0f\x0f\x0f\x0f\x0f\x0f\x0f\x0f\x0f"
		 "\x08",
		 21, "(...)"},
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct assembly *a = assembly_make(0);
		/* put it where Shapes' signature is, which is the longest */
		uint32_t index;
		assert_true(sw_clr_metadata_get(&a->m, SW_CLR_TABLE_METHOD, 4, 4, &index));
		uint8_t *to = a->bytes + (a->m.blobs_avma - AVMA) + index;
		to[0] = (uint8_t) bad[i].n;
		memcpy(to + 1, bad[i].bytes, bad[i].n);
		assert_false(sw_clr_method_def_parameters(&a->m, 4, &a->text));
		text_is(a, bad[i].expected);
		assembly_free(a);
	}
}

TEST(test_strings)
{
	struct assembly *a = assembly_make(0);
	uint8_t *strings = a->bytes + (a->m.strings_avma - AVMA);
	strings[1] = '\n'; /* of "T.dll" */
	assert_true(sw_clr_metadata_string(&a->m, 1, &a->text));
	text_is(a, "?.dll");
	assert_true(sw_clr_metadata_string(&a->m, 0, &a->text));
	text_is(a, "");
	assert_false(sw_clr_metadata_string(&a->m, a->m.strings_bytes, &a->text));
	strings[a->m.strings_bytes - 1] = 'x'; /* the last one does not end */
	assert_false(sw_clr_metadata_string(&a->m, a->m.strings_bytes - 1, &a->text));
	assembly_free(a);
}
