/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fake.h"
#include "formats/pe_image.h"
#include "pe_load.h"
#include "test.h"

enum {
	/* Offsets of header fields from the signature. */
	MACHINE = 4,
	N_SECTIONS = 6,
	TIMESTAMP = 8,
	OPTIONAL_BYTES = 20,
	MAGIC = 24,
	IMAGE_BYTES = 24 + 56,
	CHECKSUM = 24 + 64,
	N_DIRECTORIES = 24 + 108,
	DIRECTORY = 24 + 112,
	RDATA = 0x2000,
	FILE_TEXT = 0x400, /* where the file has the sections */
	FILE_RDATA = 0x600,
};

/* .text and a .rdata with what is given. */
static void make(struct pe_make *pe, const void *rdata, uint32_t bytes)
{
	pe_make_init(pe);
	pe_make_section(pe, ".text", 0x1000, PE_MAKE_CODE, NULL, 0x180);
	pe_make_section(pe, ".rdata", RDATA, PE_MAKE_DATA, rdata, bytes);
	pe_make_function(pe, 0x1000, 0x1010, RDATA);
	pe_make_export(pe, "run", 0x1000);
	pe_make_finish(pe);
}

static bool parse(const struct pe_make *pe, struct sw_pe_image *ret)
{
	return sw_pe_image_parse((struct sw_bytes){pe->bytes, pe->size}, ret);
}

TEST(test_headers)
{
	struct pe_make pe;
	struct sw_pe_image image;
	make(&pe, NULL, 0x100);
	pe_make_patch(&pe, TIMESTAMP, 0x63f14e2b, 4);
	assert_true(parse(&pe, &image));
	assert_int_equal(image.machine, 0x8664);
	assert_int_equal(image.timestamp, 0x63f14e2b);
	assert_int_equal(image.image_bytes, 0x300000);
	assert_int_equal(image.header_bytes, PE_MAKE_HEADERS);
	assert_int_equal(image.preferred_avma, PE_MAKE_BASE);
	assert_int_equal(image.exception.rva, PE_MAKE_PDATA);
	assert_int_equal(image.exception.bytes, 12);
	assert_int_equal(image.exports.rva, PE_MAKE_EDATA);
	assert_int_equal(image.debug.rva, 0);
	assert_int_equal(image.n_sections, 4);
	assert_string_equal(image.sections[0].name, ".text");
	assert_int_equal(image.sections[0].rva, 0x1000);
	assert_int_equal(image.sections[0].bytes, 0x180);
	assert_int_equal(image.sections[0].file_off, FILE_TEXT);
	assert_int_equal(image.sections[0].file_bytes, 0x200);
	assert_int_equal(image.sections[0].flags, PE_MAKE_CODE);
	assert_ptr_equal(sw_pe_image_section(&image, 0x117f), &image.sections[0]);
	assert_null(sw_pe_image_section(&image, 0x1180));
	assert_null(sw_pe_image_section(&image, 0xfff));
}

/* PE32: other places of fields. In the memory of a 64-bit program it is no code: .NET's images are such. */
TEST(test_i386)
{
	struct pe_make pe;
	struct sw_pe_image image;
	pe_make_init_32(&pe);
	pe_make_section(&pe, ".text", 0x1000, PE_MAKE_CODE, NULL, 0x180);
	pe_make_export(&pe, "run", 0x1000);
	pe_make_finish(&pe);
	pe_make_patch(&pe, TIMESTAMP, 0x63f14e2b, 4);
	assert_true(parse(&pe, &image));
	assert_int_equal(image.machine, 0x14c);
	assert_true(image.is_32bit);
	assert_int_equal(image.preferred_avma, PE_MAKE_BASE_32);
	assert_int_equal(image.image_bytes, 0x300000);
	assert_int_equal(image.header_bytes, PE_MAKE_HEADERS);
	assert_int_equal(image.exports.rva, PE_MAKE_EDATA);
	assert_int_equal(image.exception.rva, 0);
	assert_int_equal(image.n_sections, 2);
	assert_string_equal(image.sections[0].name, ".text");
	uint8_t id[SW_BUILD_ID_MAX];
	assert_int_equal(sw_pe_image_build_id(&image, (struct sw_bytes){pe.bytes, pe.size}, id),
			 12);
	struct fake_memory fake = FAKE_MEMORY({0x320000, pe.bytes, 0x1000});
	assert_true(sw_pe_image_read(fake_memory_32(&fake), 0x320000, &image));
	assert_false(sw_pe_image_read(fake_memory(&fake), 0x320000, &image));
	struct pe_make other;
	make(&other, NULL, 0x100);
	fake = (struct fake_memory) FAKE_MEMORY({0x320000, other.bytes, 0x1000});
	assert_true(sw_pe_image_read(fake_memory(&fake), 0x320000, &image));
	assert_false(sw_pe_image_read(fake_memory_32(&fake), 0x320000, &image));
	/* Magic and machine must agree. */
	pe_make_patch(&pe, MAGIC, 0x20b, 2);
	assert_false(parse(&pe, &image));
}

/* The same in memory, where the base is nowhere near where the linker put it. */
TEST(test_memory)
{
	struct pe_make pe;
	struct sw_pe_image image;
	make(&pe, NULL, 0x100);
	uint8_t *loaded = pe_load(&pe);
	struct fake_memory fake = FAKE_MEMORY({0x320000, loaded, 0x1000});
	assert_true(sw_pe_image_read(fake_memory(&fake), 0x320000, &image));
	assert_int_equal(image.preferred_avma, PE_MAKE_BASE);
	assert_int_equal(image.n_sections, 4);
	assert_false(sw_pe_image_read(fake_memory(&fake), 0x321000, &image));
	assert_false(sw_pe_image_read(fake_memory(&fake), UINT64_MAX - 100, &image));
	/* Most files that are asked about are no images: that costs one read. */
	fake.reads = 0;
	loaded[0] = 0x7f;
	assert_false(sw_pe_image_read(fake_memory(&fake), 0x320000, &image));
	assert_int_equal(fake.reads, 1);
	free(loaded);
}

static void patched(int32_t offset, uint64_t value, size_t bytes, bool good)
{
	struct pe_make pe;
	struct sw_pe_image image;
	make(&pe, NULL, 0x100);
	pe_make_patch(&pe, offset, value, bytes);
	assert_int_equal(parse(&pe, &image), good);
}

TEST(test_refused)
{
	patched(MACHINE, 0x14c, 2, false); /* 32-bit */
	patched(MACHINE, 0xaa64, 2, false);
	patched(MACHINE, 0xfd1d, 2, true); /* .NET for Linux */
	patched(MAGIC, 0x10b, 2, false);
	patched(0, 0x454e, 4, false); /* "NE" */
	patched(IMAGE_BYTES, 0, 4, false);
	patched(IMAGE_BYTES, 0x80000000, 4, false);
	patched(N_SECTIONS, SW_PE_SECTIONS_MAX + 1, 2, false);
	patched(OPTIONAL_BYTES, 111, 2, false);
	patched(OPTIONAL_BYTES, 0xffff, 2, false); /* sections behind the file's end */
	patched(0x3c - PE_MAKE_HEADER, 0xfffffff0, 4, false);
}

/* Directories that are not there, or not in the image. */
TEST(test_directories)
{
	struct pe_make pe;
	struct sw_pe_image image;
	make(&pe, NULL, 0x100);
	pe_make_patch(&pe, DIRECTORY + 3 * 8 + 4, 0x300000 - PE_MAKE_PDATA, 4);
	assert_true(parse(&pe, &image));
	assert_int_equal(image.exception.bytes, 0x200000); /* up to the end */
	pe_make_patch(&pe, DIRECTORY + 3 * 8 + 4, 0x300000 - PE_MAKE_PDATA + 1, 4);
	assert_true(parse(&pe, &image));
	assert_int_equal(image.exception.rva, 0);
	assert_int_equal(image.exception.bytes, 0);
	pe_make_patch(&pe, N_DIRECTORIES, 0, 4);
	assert_true(parse(&pe, &image));
	assert_int_equal(image.exports.rva, 0);
	/* A short optional header ends before them, whatever it says. */
	make(&pe, NULL, 0x100);
	pe_make_patch(&pe, OPTIONAL_BYTES, 112, 2);
	assert_true(parse(&pe, &image));
	assert_int_equal(image.exports.rva, 0);
}

TEST(test_file_off)
{
	struct pe_make pe;
	struct sw_pe_image image;
	uint32_t off;
	make(&pe, NULL, 0x100);
	assert_true(parse(&pe, &image));
	assert_true(sw_pe_image_file_off(&image, RDATA + 0x20, 4, &off));
	assert_int_equal(off, FILE_RDATA + 0x20);
	assert_false(sw_pe_image_file_off(&image, RDATA + 0x20, 0x1e1, &off));
	assert_false(sw_pe_image_file_off(&image, 0x900, 1, &off)); /* headers: in no section */
	image.sections[1].file_off = UINT32_MAX;
	assert_false(sw_pe_image_file_off(&image, RDATA + 1, 1, &off));
}

static const struct {
	uint32_t zero[3], type, bytes, rva, off;
	uint8_t record[25];
} codeview = {
	.type = 2,
	.bytes = 25,
	.rva = RDATA + 28,
	.off = FILE_RDATA + 28,
	.record = {'R',  'S',  'D',  'S',  0x4f, 0x27, 0x94, 0x6f, 0x3f, 0xea, 0x5c, 0x81, 0x32,
		   0xea, 0xca, 0xcf, 0x39, 0x37, 0xb4, 0x3d, 0x02, 0x00, 0x00, 0x00, 0x00},
};

static size_t build_id(const struct pe_make *pe, uint8_t id[SW_BUILD_ID_MAX])
{
	struct sw_pe_image image;
	struct sw_bytes file = {pe->bytes, pe->size};
	assert_true(sw_pe_image_parse(file, &image));
	return sw_pe_image_build_id(&image, file, id);
}

/* As debuggers print the GUID (objdump -p: "signature 6f94274fea3f815c32eacacf3937b43d"), and the
 * age. */
TEST(test_build_id)
{
	static const uint8_t wanted[] = {0x6f, 0x94, 0x27, 0x4f, 0xea, 0x3f, 0x81, 0x5c, 0x32, 0xea,
					 0xca, 0xcf, 0x39, 0x37, 0xb4, 0x3d, 0,    0,    0,    2};
	uint8_t id[SW_BUILD_ID_MAX];
	struct pe_make pe;
	make(&pe, &codeview, 28 + 25);
	pe_make_patch(&pe, DIRECTORY + 6 * 8, (uint64_t) 28 << 32 | RDATA, 8);
	assert_int_equal(build_id(&pe, id), 20);
	assert_memory_equal(id, wanted, sizeof(wanted));
	/* Cut short, of another kind, elsewhere: the header's own numbers have to do. */
	pe_make_patch(&pe, TIMESTAMP, 0x63f14e2b, 4);
	pe_make_patch(&pe, CHECKSUM, 0x38e075, 4);
	static const uint8_t other[] = {0x63, 0xf1, 0x4e, 0x2b, 0, 0x30, 0, 0, 0, 0x38, 0xe0, 0x75};
	for (size_t i = 0; i < 3; i++) {
		struct pe_make bad = pe;
		static const uint8_t at[] = {12, 16, 28}; /* type, size, "RSDS" */
		bad.bytes[FILE_RDATA + at[i]] = 23;
		assert_int_equal(build_id(&bad, id), sizeof(other));
		assert_memory_equal(id, other, sizeof(other));
	}
	pe_make_patch(&pe, DIRECTORY + 6 * 8, (uint64_t) 28 << 32 | 0x2f0000, 8);
	assert_int_equal(build_id(&pe, id), sizeof(other));
	pe_make_patch(&pe, TIMESTAMP, 0, 4);
	assert_int_equal(build_id(&pe, id), sizeof(other));
	pe_make_patch(&pe, CHECKSUM, 0, 4);
	assert_int_equal(build_id(&pe, id), 0);
}

/* A directory that claims more entries than anybody looks at. */
TEST(test_many_entries)
{
	enum { N = 200, BYTES = N * 28 };
	uint8_t entries[BYTES + 64] = {0}, id[SW_BUILD_ID_MAX];
	struct pe_make pe;
	memcpy(entries + 63 * 28, &codeview, 28);
	uint32_t off = FILE_RDATA + BYTES;
	memcpy(entries + 63 * 28 + 24, &off, 4);
	memcpy(entries + BYTES, codeview.record, 25);
	make(&pe, entries, sizeof(entries));
	pe_make_patch(&pe, DIRECTORY + 6 * 8, (uint64_t) BYTES << 32 | RDATA, 8);
	assert_int_equal(build_id(&pe, id), 20); /* the 64th */
	memmove(pe.bytes + FILE_RDATA + 64 * 28, pe.bytes + FILE_RDATA + 63 * 28, 28);
	memset(pe.bytes + FILE_RDATA + 63 * 28, 0, 28);
	assert_int_equal(build_id(&pe, id), 0); /* the 65th */
}
