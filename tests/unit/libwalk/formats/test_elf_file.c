/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf_file.h"
#include "elf_make.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

static struct elf_make made;

static int setup(void **state)
{
	(void) state;
	elf_make_init(&made);
	(void) elf_make_section(&made, ".text", SHT_PROGBITS, SHF_EXECINSTR, 0x1000, "code", 4);
	(void) elf_make_section(&made, ".bss", SHT_NOBITS, SHF_WRITE, 0x2000, NULL, 64);
	elf_make_build_id(&made, "\x01\x02\x03\x04\x05", 5);
	elf_make_finish(&made);
	return 0;
}

static bool open_made(struct sw_elf *elf)
{
	return sw_elf_init(elf, (struct sw_bytes){made.bytes, made.size});
}

static Elf64_Ehdr *header(void)
{
	return (Elf64_Ehdr *) made.bytes; /* our own bytes, aligned */
}

static void test_sections(void **state)
{
	(void) state;
	struct sw_elf elf;
	struct sw_elf_section section;
	struct sw_bytes bytes;
	assert_true(open_made(&elf));
	assert_int_equal(elf.n_sections, 5);
	assert_true(sw_elf_section_named(&elf, ".text", &section));
	assert_int_equal(section.index, 1);
	assert_int_equal(section.svma, 0x1000);
	assert_int_equal(section.flags, SHF_EXECINSTR);
	assert_true(sw_elf_section_bytes(&elf, &section, &bytes));
	assert_int_equal(bytes.size, 4);
	assert_memory_equal(bytes.data, "code", 4);
	assert_true(sw_elf_section_named(&elf, ".bss", &section));
	assert_false(sw_elf_section_bytes(&elf, &section, &bytes));
	assert_false(sw_elf_section_named(&elf, ".none", &section));
	assert_true(sw_elf_section_typed(&elf, SHT_NOTE, &section));
	assert_string_equal(section.name, ".note.gnu.build-id");
	assert_false(sw_elf_section(&elf, 5, &section));
}

static void test_build_id(void **state)
{
	(void) state;
	struct sw_elf elf;
	struct sw_bytes id;
	assert_true(open_made(&elf));
	assert_true(sw_elf_build_id(&elf, &id));
	assert_int_equal(id.size, 5);
	assert_memory_equal(id.data, "\x01\x02\x03\x04\x05", 5);
}

static void test_loaded(void **state)
{
	(void) state;
	struct sw_elf elf;
	struct sw_bytes bytes;
	Elf64_Phdr load = {.p_type = PT_LOAD,
			   .p_offset = 0x40,
			   .p_vaddr = 0x9000,
			   .p_filesz = 0x20,
			   .p_memsz = 0x100};
	header()->e_phoff = made.size;
	header()->e_phnum = 1;
	memcpy(made.bytes + made.size, &load, sizeof(load));
	made.size += sizeof(load);
	assert_true(open_made(&elf));
	assert_false(sw_elf_loaded(&elf, 0x8fff, &bytes));
	assert_true(sw_elf_loaded(&elf, 0x9000, &bytes));
	assert_ptr_equal(bytes.data, made.bytes + 0x40);
	assert_int_equal(bytes.size, 0x20);
	assert_true(sw_elf_loaded(&elf, 0x901f, &bytes));
	assert_int_equal(bytes.size, 1);
	assert_false(sw_elf_loaded(&elf, 0x9020, &bytes)); /* zeros, not in the file */
}

static void test_not_elf(void **state)
{
	(void) state;
	struct sw_elf elf;
	assert_false(sw_elf_init(&elf, (struct sw_bytes){NULL, 0}));
	assert_false(sw_elf_init(&elf, (struct sw_bytes){made.bytes, sizeof(Elf64_Ehdr) - 1}));
	made.bytes[EI_CLASS] = ELFCLASS32;
	assert_false(open_made(&elf));
	made.bytes[EI_CLASS] = ELFCLASS64;
	made.bytes[EI_DATA] = ELFDATA2MSB;
	assert_false(open_made(&elf));
	made.bytes[EI_DATA] = ELFDATA2LSB;
	made.bytes[0] = 'M';
	assert_false(open_made(&elf));
}

/* Headers that lie: an ELF file without sections is left. */
static void test_lies(void **state)
{
	(void) state;
	struct sw_elf elf;
	struct sw_elf_section section;
	uint64_t true_off = header()->e_shoff;
	static const uint64_t offsets[] = {0, UINT64_MAX, UINT64_MAX - 64, INT64_MAX};
	for (size_t i = 0; i < 4; i++) {
		header()->e_shoff = offsets[i];
		assert_true(open_made(&elf));
		assert_int_equal(elf.n_sections, 0);
	}
	header()->e_shoff = true_off + 1; /* the last one is cut */
	assert_true(open_made(&elf));
	assert_int_equal(elf.n_sections, 0);
	header()->e_shoff = true_off;
	header()->e_shentsize = 65;
	assert_true(open_made(&elf));
	assert_int_equal(elf.n_sections, 0);
	header()->e_shentsize = sizeof(Elf64_Shdr);
	header()->e_shstrndx = 77; /* names that are not there are empty */
	assert_true(open_made(&elf));
	assert_int_equal(elf.n_sections, 5);
	assert_true(sw_elf_section(&elf, 1, &section));
	assert_string_equal(section.name, "");
	header()->e_phoff = UINT64_MAX - 8;
	header()->e_phnum = 1024;
	assert_true(open_made(&elf));
	assert_int_equal(elf.n_segments, 0);
}

static void test_section_outside(void **state)
{
	(void) state;
	struct sw_elf elf;
	struct sw_elf_section section;
	struct sw_bytes bytes;
	assert_true(open_made(&elf));
	assert_true(sw_elf_section_named(&elf, ".text", &section));
	section.off = made.size - 3;
	assert_false(sw_elf_section_bytes(&elf, &section, &bytes));
	section.off = UINT64_MAX;
	assert_false(sw_elf_section_bytes(&elf, &section, &bytes));
	section.off = 0;
	section.size = UINT64_MAX;
	assert_false(sw_elf_section_bytes(&elf, &section, &bytes));
}

/* Sections past 0xff00: their number is in the first header (gABI 4.1). */
static void test_extended_numbers(void **state)
{
	(void) state;
	struct sw_elf elf;
	struct sw_elf_section section;
	Elf64_Shdr *first = (Elf64_Shdr *) (made.bytes + header()->e_shoff);
	first->sh_size = header()->e_shnum;
	first->sh_link = header()->e_shstrndx;
	header()->e_shnum = 0;
	header()->e_shstrndx = SHN_XINDEX;
	assert_true(open_made(&elf));
	assert_int_equal(elf.n_sections, 5);
	assert_true(sw_elf_section_named(&elf, ".text", &section));
	first->sh_size = UINT64_MAX / 64 + 2;
	assert_true(open_made(&elf));
	assert_int_equal(elf.n_sections, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_sections, setup),
		cmocka_unit_test_setup(test_build_id, setup),
		cmocka_unit_test_setup(test_loaded, setup),
		cmocka_unit_test_setup(test_not_elf, setup),
		cmocka_unit_test_setup(test_lies, setup),
		cmocka_unit_test_setup(test_section_outside, setup),
		cmocka_unit_test_setup(test_extended_numbers, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
