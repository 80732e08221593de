/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/elf_symbol.h"
#include "elf_make.h"
#include "test.h"

#include <dlfcn.h>
#include <json-c/json.h>
#include <sys/stat.h>
#include <time.h>

enum { EXEC = SHF_ALLOC | SHF_EXECINSTR, WRITE = SHF_ALLOC | SHF_WRITE };

static struct elf_make elf;

static struct sw_bytes image(void)
{
	return (struct sw_bytes){elf.bytes, elf.size};
}

static struct sw_elf file;

static bool open_image(struct sw_bytes bytes, struct sw_elf_symbols *ret)
{
	return sw_elf_init(&file, bytes) && sw_elf_symbols_open(&file, ret);
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
	assert_true(open_image(image(), &symbols));
	assert_int_equal(sw_elf_symbols_find(&symbols, name, &symbol), svma != 0);
	assert_int_equal(symbol.svma, svma);
	assert_int_equal(symbol.size, svma != 0 ? 8 : 0);
}

TEST(test_hashed)
{
	dynamic(UINT64_MAX);
	found("first", 0x4000);
	found("third", 0x4010);
	found("fourth", 0);
	found("second", 0);
	dynamic(0);
	found("first", 0);
}

/* A table that has no end, or leads outside. */
TEST(test_bad_hash)
{
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

TEST(test_in_a_row)
{
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
	sums[strcmp(name, "bc") == 0] += symbol->svma;
}

/* Small ones that can be written to; each of several with the name. */
TEST(test_variables)
{
	static const char *const names[] = {"a", "bc", NULL}, *const more[] = {"a", NULL};
	struct sw_elf_symbols symbols;
	uint64_t sums[2] = {0}, again[2] = {0};
	elf_make_init(&elf);
	uint16_t text =
		(uint16_t) elf_make_section(&elf, ".text", SHT_NOBITS, EXEC, 0x1000, NULL, 0x100);
	uint16_t data =
		(uint16_t) elf_make_section(&elf, ".data", SHT_NOBITS, WRITE, 0x4000, NULL, 0x100);
	elf_make_symbol(&elf, "a", STB_LOCAL, STT_OBJECT, data, 0x1, 8);
	elf_make_symbol(&elf, "a", STB_LOCAL, STT_OBJECT, data, 0x10, 256);
	elf_make_symbol(&elf, "bc", STB_GLOBAL, STT_OBJECT, data, 0x100, 8);
	elf_make_symbol(&elf, "bcd", STB_GLOBAL, STT_OBJECT, data, 0x200, 8);
	elf_make_symbol(&elf, "b", STB_GLOBAL, STT_OBJECT, data, 0x400, 8);
	elf_make_symbol(&elf, "a", STB_LOCAL, STT_OBJECT, data, 0x1000, 257);
	elf_make_symbol(&elf, "a", STB_LOCAL, STT_FUNC, data, 0x2000, 8);
	elf_make_symbol(&elf, "a", STB_LOCAL, STT_OBJECT, text, 0x4000, 8);
	elf_make_symbol(&elf, "a", STB_LOCAL, STT_OBJECT, SHN_ABS, 0x8000, 8);
	elf_make_symbol(&elf, "c", STB_LOCAL, STT_OBJECT, data, 0x10000, 8);
	elf_make_symtab(&elf, SHT_SYMTAB);
	elf_make_finish(&elf);
	assert_true(open_image(image(), &symbols));
	const struct sw_elf_wanted wanted[] = {{names, count, sums}, {more, count, again}};
	sw_elf_symbols_variables(&symbols, wanted, 2);
	assert_int_equal(sums[0], 0x11);
	assert_int_equal(sums[1], 0x100);
	assert_int_equal(again[0], 0x11);
	assert_int_equal(again[1], 0);
	sw_elf_symbols_variables(&symbols, wanted, 0); /* nothing is wanted */
	found("a", 0);                                 /* not exported */
}

TEST(test_no_elf)
{
	struct sw_elf_symbols symbols;
	struct sw_bytes bytes;
	dynamic(UINT64_MAX);
	for (elf.size--; elf.size > 0; elf.size /= 2)
		(void) open_image(image(), &symbols); /* for the sanitizers */
	dynamic(UINT64_MAX);
	elf.bytes[EI_CLASS] = ELFCLASS32;
	assert_false(open_image(image(), &symbols));
	dynamic(UINT64_MAX);
	assert_true(open_image(image(), &symbols));
	assert_false(sw_elf_loaded(symbols.elf, 0x4000, &bytes)); /* no load segment */
}

/* ---- against the dynamic linker -------------------------------------------------------------- */

/* A library of this process. */
struct library {
	uint64_t base;
	uint8_t *image;
	size_t size;
};

static int setup(void **state)
{
	static struct library l;
	Dl_info info;
	struct stat st;
	*state = &l;
	if (dladdr((void *) (uintptr_t) json_object_new_object, &info) == 0)
		return -1;
	l.base = (uintptr_t) info.dli_fbase;
	int fd = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || (l.image = malloc((size_t) st.st_size)) == NULL)
		return -1;
	l.size = (size_t) st.st_size;
	bool whole = read(fd, l.image, l.size) == st.st_size;
	(void) close(fd);
	return whole ? 0 : -1;
}

/* As strippers of section headers leave it, and as it lies in memory. */
static int setup_no_sections(void **state)
{
	Elf64_Ehdr ehdr;
	if (setup(state) < 0)
		return -1;
	struct library *l = *state;
	memcpy(&ehdr, l->image, sizeof(ehdr));
	memset(l->image + ehdr.e_shoff, 0, ehdr.e_shnum * sizeof(Elf64_Shdr));
	ehdr.e_shoff = ehdr.e_shnum = ehdr.e_shentsize = ehdr.e_shstrndx = 0;
	memcpy(l->image, &ehdr, sizeof(ehdr));
	return 0;
}

static int teardown(void **state)
{
	struct library *l = *state;
	free(l->image);
	return 0;
}

TEST_OF(test_library, const struct library *l)
{
	static const char *const names[] = {"json_object_new_object", "json_tokener_parse_ex",
					    "json_object_put", "json_c_version"};
	static const char *const none[] = {"json_object_new_objec", "", "malloc"}; /* imported */
	struct sw_elf_symbols symbols;
	struct sw_elf_symbol symbol;
	assert_true(open_image((struct sw_bytes){l->image, l->size}, &symbols));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct sw_bytes bytes;
		void *address = dlsym(RTLD_DEFAULT, names[i]);
		assert_non_null(address);
		assert_true(sw_elf_symbols_find(&symbols, names[i], &symbol));
		assert_int_equal(symbol.svma + l->base, (uintptr_t) address);
		assert_int_not_equal(symbol.size, 0);
		assert_true(sw_elf_loaded(symbols.elf, symbol.svma, &bytes));
		assert_memory_equal(bytes.data, address, symbol.size);
	}
	symbol = (struct sw_elf_symbol){77, 78};
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_false(sw_elf_symbols_find(&symbols, none[i], &symbol));
	assert_int_equal(symbol.svma, 77);
	assert_int_equal(symbol.size, 78);
}

TEST_WITH(test_library_no_sections, setup_no_sections, teardown)
{
	test_library(state);
}

/* The first bytes in memory of their own, for the sanitizers. */
static void ask(const struct library *l, size_t size)
{
	struct sw_elf_symbols symbols;
	struct sw_elf_symbol symbol;
	uint8_t *copy = malloc(size);
	assert_true(copy != NULL || size == 0);
	if (size > 0)
		memcpy(copy, l->image, size);
	if (open_image((struct sw_bytes){copy, size}, &symbols))
		(void) sw_elf_symbols_find(&symbols, "json_object_put", &symbol);
	free(copy);
}

/* Cut anywhere, and with any one part of its tables overwritten: an answer, and no crash. */
TEST_OF(test_damaged, struct library *l)
{
	for (size_t size = 0; size < l->size; size += l->size / 64 + 1)
		ask(l, size);
	static const uint8_t values[] = {0x00, 0x7f, 0x80, 0xff};
	for (size_t at = 0; at < 8192 && at + 8 < l->size; at += 8) {
		uint8_t saved[8];
		memcpy(saved, l->image + at, sizeof(saved));
		memset(l->image + at, values[at / 8 % 4], sizeof(saved));
		ask(l, l->size);
		memcpy(l->image + at, saved, sizeof(saved));
	}
}

TEST_WITH(test_damaged_no_sections, setup_no_sections, teardown)
{
	test_damaged(state);
}

/*
 * Everything is in one bucket, and a name without end is behind each symbol: to measure it for each of
 * them would take a minute and more.
 */
TEST(test_endless_names)
{
	enum {
		DYNAMIC = 0x100,
		HASH = 0x200,
		SYMBOLS = 0x8000,
		STRINGS = SYMBOLS + SW_ELF_CHAIN_MAX * sizeof(Elf64_Sym),
		STRING_BYTES = 256 << 20,
	};
	const char *name = "AAAA";
	const uint32_t hash = 5381U * 33 * 33 * 33 * 33 + 'A' * (33U * 33 * 33 + 33 * 33 + 33 + 1);
	uint8_t *image = calloc(1, STRINGS + STRING_BYTES);
	assert_non_null(image);
	const Elf64_Ehdr ehdr = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1},
				 .e_type = ET_DYN,
				 .e_machine = EM_X86_64,
				 .e_version = 1,
				 .e_phoff = sizeof(ehdr),
				 .e_ehsize = sizeof(ehdr),
				 .e_phentsize = sizeof(Elf64_Phdr),
				 .e_phnum = 2};
	const Elf64_Phdr phdrs[] = {
		{.p_type = PT_LOAD, .p_filesz = STRINGS + STRING_BYTES, .p_flags = PF_R},
		{.p_type = PT_DYNAMIC, .p_offset = DYNAMIC, .p_filesz = 4 * sizeof(Elf64_Dyn)}};
	const Elf64_Dyn dynamic[] = {{DT_GNU_HASH, {HASH}},
				     {DT_SYMTAB, {SYMBOLS}},
				     {DT_STRTAB, {STRINGS}}};
	const uint32_t head[] = {1, 0, 1, 0, UINT32_MAX, UINT32_MAX, 0};
	const uint32_t chain = hash & ~1U;
	const Elf64_Sym symbol = {.st_shndx = 1, .st_value = 1};
	memcpy(image, &ehdr, sizeof(ehdr));
	memcpy(image + sizeof(ehdr), phdrs, sizeof(phdrs));
	memcpy(image + DYNAMIC, dynamic, sizeof(dynamic));
	memcpy(image + HASH, head, sizeof(head));
	for (size_t i = 0; i < SW_ELF_CHAIN_MAX; i++) {
		memcpy(image + HASH + sizeof(head) + 4 * i, &chain, sizeof(chain));
		memcpy(image + SYMBOLS + i * sizeof(symbol), &symbol, sizeof(symbol));
	}
	memset(image + STRINGS, 'A', STRING_BYTES - 1);

	struct sw_elf_symbols symbols;
	struct sw_elf_symbol found_symbol;
	assert_true(open_image((struct sw_bytes){image, STRINGS + STRING_BYTES}, &symbols));
	clock_t begin = clock();
	assert_false(sw_elf_symbols_find(&symbols, name, &found_symbol));
	assert_true(clock() - begin < 2 * CLOCKS_PER_SEC);
	/* The search was for each of the names: the last one is it. */
	Elf64_Sym last = symbol;
	last.st_name = STRING_BYTES - 5;
	memcpy(image + SYMBOLS + (SW_ELF_CHAIN_MAX - 1) * sizeof(last), &last, sizeof(last));
	assert_true(sw_elf_symbols_find(&symbols, name, &found_symbol));
	assert_int_equal(found_symbol.svma, 1);
	free(image);
}
