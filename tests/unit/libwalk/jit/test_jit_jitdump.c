/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jit/perf/jitdump.h"
#include "jit/perf/jitdump_parse.h"
#include "cfi/fde.h"
#include "test.h"

/* A file in the making. */
static struct {
	uint8_t bytes[128 << 10];
	size_t size;
} file;

static void put(const void *bytes, size_t n)
{
	assert_true(file.size + n <= sizeof(file.bytes));
	memcpy(file.bytes + file.size, bytes, n);
	file.size += n;
}

static void put32(uint32_t value)
{
	put(&value, sizeof(value));
}

static void put64(uint64_t value)
{
	put(&value, sizeof(value));
}

static void begin(void)
{
	file.size = 0;
	put32(0x4a695444);
	put32(1);
	put32(40);
	put32(62);
	put32(0);
	put32(4242);
	put64(0);
	put64(0);
}

static void record(uint32_t kind, size_t bytes)
{
	put32(kind);
	put32((uint32_t) bytes + 16);
	put64(0);
}

static void load(uint64_t start, uint64_t bytes, const char *name)
{
	record(0, 40 + strlen(name) + 1 + 4);
	put32(4242);
	put32(4242);
	put64(start);
	put64(start);
	put64(bytes);
	put64(1);
	put(name, strlen(name) + 1);
	put("code", 4);
}

static void move(uint64_t from, uint64_t to)
{
	record(1, 48);
	put32(4242);
	put32(4242);
	put64(to);
	put64(from);
	put64(to);
	put64(16);
	put64(1);
}

static void line(uint64_t address, uint32_t number, const char *name)
{
	put64(address);
	put32(number);
	put32(0);
	put(name, strlen(name) + 1);
}

static struct sw_jitdump parse(void)
{
	struct sw_jitdump dump;
	assert_int_equal(sw_jitdump_parse((struct sw_bytes){file.bytes, file.size}, &dump), 0);
	return dump;
}

static const char *name_at(const struct sw_jitdump *dump, uint64_t avma)
{
	const struct sw_jitdump_function *f = sw_jitdump_find(dump, avma);
	return f != NULL ? sw_jitdump_name(dump, f) : "none";
}

TEST(test_names)
{
	begin();
	load(0x1000, 16, "one");
	load(0x2000, 16, "two");
	load(0x1008, 4, "newer");
	record(3, 0);
	record(77, 5);
	put("later", 5);
	struct sw_jitdump dump = parse();
	assert_null(dump.problem);
	assert_int_equal(dump.n, 3);
	assert_string_equal(name_at(&dump, 0x1000), "one");
	assert_string_equal(name_at(&dump, 0x1008), "newer");
	assert_string_equal(name_at(&dump, 0x100f), "one");
	assert_string_equal(name_at(&dump, 0x1010), "none");
	assert_string_equal(name_at(&dump, 0x2000), "two");
	sw_jitdump_deinit(&dump);
}

TEST(test_moves)
{
	begin();
	load(0x1000, 16, "moved");
	move(0x1000, 0x3000);
	move(0x3000, 0x4000);
	move(0x9000, 0x5000);
	load(0x1000, 16, "new");
	struct sw_jitdump dump = parse();
	assert_null(dump.problem);
	assert_string_equal(name_at(&dump, 0x1000), "new");
	assert_string_equal(name_at(&dump, 0x3000), "none");
	assert_string_equal(name_at(&dump, 0x4008), "moved");
	assert_string_equal(name_at(&dump, 0x5000), "none");
	sw_jitdump_deinit(&dump);
}

static void line_is(const struct sw_jitdump *dump, uint64_t avma, const char *name, uint32_t number)
{
	struct sw_bytes found;
	uint32_t got;
	const struct sw_jitdump_function *f = sw_jitdump_find(dump, avma);
	assert_non_null(f);
	assert_true(sw_jitdump_line(dump, f, avma, &found, &got));
	assert_int_equal(found.size, strlen(name));
	assert_memory_equal(found.data, name, found.size);
	assert_int_equal(got, number);
}

/* The last entry that does not lie behind the address; "\xff" is the file of the entry before. */
TEST(test_lines)
{
	struct sw_bytes found;
	uint32_t number;
	begin();
	record(2, 16 + 3 * 16 + 4 + 2 + 4);
	put64(0x1000);
	put64(3);
	line(0x1002, 10, "a.c");
	line(0x1008, 11, "\xff");
	line(0x100c, 3, "b.c");
	load(0x1000, 16, "f");
	load(0x2000, 16, "without");
	struct sw_jitdump dump = parse();
	assert_null(dump.problem);
	assert_false(
		sw_jitdump_line(&dump, sw_jitdump_find(&dump, 0x1001), 0x1001, &found, &number));
	line_is(&dump, 0x1002, "a.c", 10);
	line_is(&dump, 0x1009, "a.c", 11);
	line_is(&dump, 0x100f, "b.c", 3);
	assert_false(
		sw_jitdump_line(&dump, sw_jitdump_find(&dump, 0x2000), 0x2000, &found, &number));
	sw_jitdump_deinit(&dump);
}

/* V8 counts from the ELF header that perf will write before the code. Its names of files are sometimes
 * other bytes, of the same length: then the function's name says which file it is. */
TEST(test_lines_of_v8)
{
	struct sw_bytes found;
	uint32_t number;
	begin();
	record(2, 16 + 2 * (16 + 10) + 4); /* padded */
	put64(0x1000);
	put64(2);
	put64(0x1040);
	put32(6);
	put32(0);
	put("x\0\xff\0garba", 10);
	line(0x1044, 7, "/a b/t.js");
	put32(0);
	load(0x1000, 16, "JS:^get outer /a b/t.js:5:10");
	/* The record has another length: nothing is guessed. */
	record(2, 16 + 16 + 5);
	put64(0x2000);
	put64(1);
	line(0x2990, 7, "t.js");
	load(0x2000, 16, "JS:*outer other.js:5:1");
	/* A name that is all spaces is not searched again and again. */
	static char long_name[40000];
	memset(long_name, ' ', sizeof(long_name) - 1);
	memcpy(long_name, "JS:", 3);
	memcpy(long_name + sizeof(long_name) - 10, " t.js:1:1", 10); /* with its NUL */
	record(2, 16 + 16 + 5);
	put64(0x3000);
	put64(1);
	line(0x3040, 7, "x.js");
	load(0x3000, 16, long_name);
	struct sw_jitdump dump = parse();
	line_is(&dump, 0x3001, "x.js", 7);
	line_is(&dump, 0x1001, "/a b/t.js", 6);
	line_is(&dump, 0x1004, "/a b/t.js", 7);
	assert_false(
		sw_jitdump_line(&dump, sw_jitdump_find(&dump, 0x2004), 0x2004, &found, &number));
	sw_jitdump_deinit(&dump);
}

/* .eh_frame of a function of 20 bytes: it is as if it began at the next multiple of 8. */
TEST(test_unwinding)
{
	static const uint8_t cie[24] = {20, 0,    0,  0, 0,    0,    0, 0, 1,    'z', 'R', 0,
					1,  0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1,   0,   0};
	static const uint8_t rest[8] = {20, 0, 0, 0, 0, 0x41, 0x0e, 16};
	static const char hdr[20] = "header";
	struct sw_cfi_section section;
	struct sw_cfi_entry entry;
	uint64_t off;
	begin();
	record(4, 24 + 48 + sizeof(hdr));
	put64(48 + sizeof(hdr));
	put64(sizeof(hdr));
	put64(0);
	put(cie, sizeof(cie));
	put32(20);
	put32(28);
	put32((uint32_t) (0x1000 - (0x1018 + 32))); /* from where it lies to the code */
	put(rest, sizeof(rest));
	put32(0);
	put(hdr, sizeof(hdr));
	load(0x1000, 20, "f");
	load(0x2000, 20, "without");
	struct sw_jitdump dump = parse();
	assert_null(dump.problem);
	assert_int_equal(dump.n_cfi, 1);
	assert_true(sw_jitdump_cfi(&dump, sw_jitdump_find(&dump, 0x1004), &section));
	assert_int_equal(section.svma, 0x1018);
	assert_int_equal(sw_cfi_fde_find(&section, 0x1004, &off, &entry), 1);
	assert_int_equal(entry.start_svma, 0x1000);
	assert_int_equal(entry.end_svma, 0x1014);
	assert_false(sw_jitdump_cfi(&dump, sw_jitdump_find(&dump, 0x2004), &section));
	sw_jitdump_deinit(&dump);
}

/* More than a function can need is not searched for each address. */
TEST(test_too_much_unwinding)
{
	static const char much[(64 << 10) + 1];
	struct sw_cfi_section section;
	for (size_t bytes = sizeof(much) - 1; bytes <= sizeof(much); bytes++) {
		begin();
		record(4, 24 + bytes);
		put64(bytes);
		put64(0);
		put64(0);
		put(much, bytes);
		load(0x1000, 20, "f");
		struct sw_jitdump dump = parse();
		assert_null(dump.problem);
		assert_int_equal(sw_jitdump_cfi(&dump, sw_jitdump_find(&dump, 0x1004), &section),
				 bytes < sizeof(much));
		sw_jitdump_deinit(&dump);
	}
}

/* The section that V8 writes: a header and no entries. */
TEST(test_header_only)
{
	static const char hdr[20] = "header";
	struct sw_cfi_section section;
	begin();
	record(4, 24 + sizeof(hdr));
	put64(sizeof(hdr));
	put64(sizeof(hdr));
	put64(0);
	put(hdr, sizeof(hdr));
	load(0x1000, 16, "f");
	struct sw_jitdump dump = parse();
	assert_null(dump.problem);
	assert_int_equal(dump.n_cfi, 0);
	assert_false(sw_jitdump_cfi(&dump, sw_jitdump_find(&dump, 0x1004), &section));
	sw_jitdump_deinit(&dump);
}

/* Cut at every byte: what is whole counts, and it is no mistake. */
TEST(test_cut)
{
	begin();
	load(0x1000, 16, "one");
	size_t first = file.size;
	load(0x2000, 16, "two");
	for (size_t whole = file.size; file.size >= 40; file.size--) {
		struct sw_jitdump dump = parse();
		assert_null(dump.problem);
		assert_int_equal(dump.n, file.size == whole ? 2 : file.size >= first ? 1 : 0);
		sw_jitdump_deinit(&dump);
	}
}

TEST(test_malformed)
{
	struct sw_jitdump dump;
	begin();
	file.bytes[0] = 'x';
	dump = parse();
	assert_string_equal(dump.problem, "it is no jitdump file");
	begin();
	load(0x1000, 16, "one");
	put32(0);
	put32(7); /* smaller than its own header */
	put64(0);
	dump = parse();
	assert_string_equal(dump.problem, "it has a malformed record");
	assert_int_equal(dump.n, 1);
	sw_jitdump_deinit(&dump);
}
