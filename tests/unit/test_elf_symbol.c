/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf_symbol.h"
#include "elf_make.h"

#include <stdlib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { EXEC = SHF_ALLOC | SHF_EXECINSTR, WRITE = SHF_ALLOC | SHF_WRITE };

static struct elf_make elf;

static struct sw_bytes image(void)
{
	return (struct sw_bytes){elf.bytes, elf.size};
}

static uint32_t hash_of(const char *name)
{
	uint32_t h = 5381;
	for (; *name != '\0'; name++)
		h = h * 33 + (unsigned char) *name;
	return h;
}

/* .dynsym with three names in one bucket; the bloom filter lets all pass, or nothing. */
static void dynamic(uint64_t bloom)
{
	static const char *const names[] = {"first", "second@not", "third"};
	elf_make_init(&elf);
	uint16_t data =
		(uint16_t) elf_make_section(&elf, ".data", SHT_NOBITS, WRITE, 0x4000, NULL, 0x100);
	for (uint64_t i = 0; i < 3; i++)
		elf_make_symbol(&elf, names[i], STB_WEAK, STT_OBJECT, data, 0x4000 + 8 * i, 8);
	elf_make_symtab(&elf, SHT_DYNSYM);
	uint32_t table[] = {1,
			    1,
			    1,
			    6,
			    (uint32_t) bloom,
			    (uint32_t) (bloom >> 32),
			    1,
			    hash_of(names[0]) & ~1u,
			    hash_of(names[1]) & ~1u,
			    hash_of(names[2]) | 1};
	elf_make_section(&elf, ".gnu.hash", SHT_GNU_HASH, SHF_ALLOC, 0x200, table, sizeof(table));
	elf_make_finish(&elf);
}

static void found(const char *name, uint64_t svma)
{
	struct sw_elf_symbols symbols;
	struct sw_elf_symbol symbol = {0};
	assert_true(sw_elf_symbols_open(image(), &symbols));
	assert_int_equal(sw_elf_symbols_find(&symbols, name, &symbol), svma != 0);
	assert_int_equal(symbol.svma, svma);
	assert_int_equal(symbol.size, svma != 0 ? 8 : 0);
}

static void test_hashed(void **state)
{
	(void) state;
	dynamic(UINT64_MAX);
	found("first", 0x4000);
	found("third", 0x4010);
	found("fourth", 0);
	found("second", 0);
	dynamic(0);
	found("first", 0);
}

/* A table that has no end, or leads outside. */
static void test_bad_hash(void **state)
{
	(void) state;
	for (uint32_t bytes = 0; bytes < 40; bytes++) {
		dynamic(UINT64_MAX);
		Elf64_Ehdr ehdr;
		memcpy(&ehdr, elf.bytes, sizeof(ehdr));
		for (uint32_t i = 0; i < ehdr.e_shnum; i++) {
			Elf64_Shdr s;
			uint64_t at = ehdr.e_shoff + i * sizeof(s);
			memcpy(&s, elf.bytes + at, sizeof(s));
			if (s.sh_type != SHT_GNU_HASH)
				continue;
			s.sh_size = bytes;
			memcpy(elf.bytes + at, &s, sizeof(s));
		}
		/* Size 0 is no table: then names are searched in a row. */
		found("third", bytes == 0 ? 0x4010 : 0);
	}
}

static void test_in_a_row(void **state)
{
	(void) state;
	elf_make_init(&elf);
	uint16_t data =
		(uint16_t) elf_make_section(&elf, ".data", SHT_NOBITS, WRITE, 0x4000, NULL, 0x100);
	elf_make_symbol(&elf, "wanted", STB_GLOBAL, STT_OBJECT, SHN_UNDEF, 0x4000, 8);
	elf_make_symbol(&elf, "wanted", STB_GLOBAL, STT_OBJECT, data, 0x4008, 8);
	elf_make_symtab(&elf, SHT_DYNSYM);
	elf_make_finish(&elf);
	found("wanted", 0x4008);
	found("want", 0);
	found("anted", 0); /* the end of a longer name */
}

static void count(void *arg, const char *name, const struct sw_elf_symbol *symbol)
{
	uint64_t *sums = arg;
	sums[name[0] == 'b'] += symbol->svma;
}

/* Small ones that can be written to; each of several with the name. */
static void test_variables(void **state)
{
	(void) state;
	static const char *const names[] = {"a", "b", NULL};
	struct sw_elf_symbols symbols;
	uint64_t sums[2] = {0};
	elf_make_init(&elf);
	uint16_t text =
		(uint16_t) elf_make_section(&elf, ".text", SHT_NOBITS, EXEC, 0x1000, NULL, 0x100);
	uint16_t data =
		(uint16_t) elf_make_section(&elf, ".data", SHT_NOBITS, WRITE, 0x4000, NULL, 0x100);
	elf_make_symbol(&elf, "a", STB_LOCAL, STT_OBJECT, data, 0x1, 8);
	elf_make_symbol(&elf, "a", STB_LOCAL, STT_OBJECT, data, 0x10, 256);
	elf_make_symbol(&elf, "b", STB_GLOBAL, STT_OBJECT, data, 0x100, 8);
	elf_make_symbol(&elf, "a", STB_LOCAL, STT_OBJECT, data, 0x1000, 257);
	elf_make_symbol(&elf, "a", STB_LOCAL, STT_FUNC, data, 0x2000, 8);
	elf_make_symbol(&elf, "a", STB_LOCAL, STT_OBJECT, text, 0x4000, 8);
	elf_make_symbol(&elf, "a", STB_LOCAL, STT_OBJECT, SHN_ABS, 0x8000, 8);
	elf_make_symbol(&elf, "c", STB_LOCAL, STT_OBJECT, data, 0x10000, 8);
	elf_make_symtab(&elf, SHT_SYMTAB);
	elf_make_finish(&elf);
	assert_true(sw_elf_symbols_open(image(), &symbols));
	sw_elf_symbols_variables(&symbols, names, count, sums);
	assert_int_equal(sums[0], 0x11);
	assert_int_equal(sums[1], 0x100);
	found("a", 0); /* not exported */
}

static void test_no_elf(void **state)
{
	(void) state;
	struct sw_elf_symbols symbols;
	struct sw_bytes bytes;
	dynamic(UINT64_MAX);
	for (elf.size--; elf.size > 0; elf.size /= 2)
		(void) sw_elf_symbols_open(image(), &symbols); /* for the sanitizers */
	dynamic(UINT64_MAX);
	elf.bytes[EI_CLASS] = ELFCLASS32;
	assert_false(sw_elf_symbols_open(image(), &symbols));
	dynamic(UINT64_MAX);
	assert_true(sw_elf_symbols_open(image(), &symbols));
	assert_false(sw_elf_symbols_bytes(&symbols, 0x4000, &bytes)); /* no load segment */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hashed),   cmocka_unit_test(test_bad_hash),
		cmocka_unit_test(test_in_a_row), cmocka_unit_test(test_variables),
		cmocka_unit_test(test_no_elf),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
